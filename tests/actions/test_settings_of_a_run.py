"""A run is judged by the settings under which it was started."""

from __future__ import annotations

import json
import os
import subprocess
from datetime import datetime
from typing import Any

import pytest

from loop.actions.finish import finish
from loop.builder.prepare import write_run_files
from loop.builder.stream import run_mark
from loop.core.config import Builder, CheckpointSettings, Config
from loop.core.task import Task
from loop.core.transition import end_run
from loop.git.command import repository_of
from loop.git.snapshot import ref_of, take
from loop.store import queue, timeline
from loop.store.paths import Project
from tests.tasks import claim, submit

IN_WORDS: dict[str, Any] = {"result": "Did it.", "structured_output": None}
BY_REPORT: dict[str, Any] = {
    "result": "",
    "structured_output": {"outcome": "done", "summary": "Did it.", "files_changed": []},
}


def ran(project: Project, task: Task, config: Config, **said: Any) -> None:
    """The files of a run that was started under `config` and has ended."""
    run = task.runs[-1]
    write_run_files(project, task, run, config, argv=["/bin/true"], prompt="Do it")
    project.run_file("1", "exit").write_text(json.dumps({"run": run.uuid, "exit": 0}))
    result = {"type": "result", "subtype": "success", "is_error": False, "num_turns": 1, **said}
    mark = run_mark(run.uuid).decode() + ',"event":"started"}'
    project.log("1").write_text(f"{mark}\n{json.dumps(result)}\n")


def test_a_run_without_a_report_is_judged_so_though_the_settings_changed_meanwhile(
    project: Project, now: datetime
) -> None:
    task = claim(project, submit(project, now), now)
    ran(project, task, Config(builder=Builder(report="marker")), **IN_WORDS)
    assert finish(project, task, Config(), now).outcome.reason == "success"


@pytest.fixture
def before(project: Project, now: datetime) -> Task:
    """A running task in a repository, with the snapshot before its run."""
    git(project, "init", "--quiet")
    (project.root / ".gitignore").write_text(".ai/\n")
    (project.root / "mine.txt").write_text("mine\n")
    git(project, "add", "--all")
    git(project, "commit", "--quiet", "--message=first")
    return claim(project, submit(project, now), now)


def git(project: Project, *arguments: str) -> str:
    identity = ("-c", "user.name=Test", "-c", "user.email=test@example.invalid")
    return subprocess.run(
        ["git", *identity, *arguments], cwd=project.root, capture_output=True, text=True, check=True
    ).stdout


def snapshot(project: Project, task: Task) -> Task:
    repository = repository_of(project.root)
    assert repository is not None
    taken = take(repository, "refs/loop/test/before", max_file_mb=10)
    task = end_run(task, before=taken.commit, head=taken.head)
    queue.update_running(project, task)
    return task


def test_no_commit_is_made_where_none_was_wanted_though_the_settings_broke_meanwhile(
    project: Project, before: Task, now: datetime
) -> None:
    task = snapshot(project, before)
    ran(project, task, Config(checkpoint=CheckpointSettings(mode="off")), **BY_REPORT)
    (project.root / "new.txt").write_text("new\n")
    finish(project, task, Config(), now)  # what is taken when config.json can't be read
    assert git(project, "rev-list", "--count", "HEAD").strip() == "1"


def test_a_dirty_file_that_the_builder_names_by_its_whole_path_is_committed(
    project: Project, before: Task, now: datetime
) -> None:
    mine = project.root / "mine.txt"
    mine.write_text("begun\n")
    task = snapshot(project, before)
    report = {**BY_REPORT["structured_output"], "files_changed": [str(mine)]}
    ran(project, task, Config(), result="", structured_output=report)
    mine.write_text("finished\n")
    finish(project, task, Config(), now)
    assert git(project, "show", "HEAD:mine.txt") == "finished\n"


def test_a_checkpoint_that_was_not_made_stands_in_the_timeline(
    project: Project, before: Task, now: datetime
) -> None:
    task = snapshot(project, before)
    ran(project, task, Config(), **BY_REPORT)
    (project.root / "new.txt").write_text("new\n")
    (project.root / ".git/MERGE_HEAD").write_text(git(project, "rev-parse", "HEAD"))
    result = finish(project, task, Config(), now).result
    assert result is not None
    assert result.warnings == ["no checkpoint was made: a merge is in progress"]
    skipped, completed = timeline.last(project.timeline, 2, "1")
    assert (skipped["event"], skipped["reason"]) == ("checkpoint_skipped", "a merge is in progress")
    assert completed["event"] == "run_completed"


def test_the_end_of_a_run_drops_snapshots_that_are_older_than_was_asked(
    project: Project, before: Task, now: datetime
) -> None:
    task = snapshot(project, before)
    age = ("-c", "user.name=x", "-c", "user.email=x", "commit-tree", "-m", "old", "HEAD^{tree}")
    when = {"GIT_AUTHOR_DATE": "2001-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2001-01-01T00:00:00Z"}
    old = subprocess.run(
        ["git", *age], cwd=project.root, env=os.environ | when, capture_output=True, check=True
    ).stdout.decode()
    name = ref_of(project.root, "7", 1, "before")
    git(project, "update-ref", name, old.strip())
    ran(project, task, Config(), **BY_REPORT)
    finish(project, task, Config(), now)
    kept = git(project, "for-each-ref", "--format=%(refname)", "refs/loop").split()
    assert kept == [ref_of(project.root, "1", 1, "after"), "refs/loop/test/before"]
