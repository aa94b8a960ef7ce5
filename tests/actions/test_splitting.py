"""A run that splits its task, as it is ended: with its parts, or not at all."""

from __future__ import annotations

import json
import os
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from loop.actions.finish import finish
from loop.builder import runlog
from loop.core.config import Config
from loop.core.task import Task, TaskFields, encode
from loop.store import queue, timeline
from loop.store.files import replace
from loop.store.journal import transition
from loop.store.paths import Project
from loop.store.progress import entries_in
from loop.store.scan import ids_in, locate
from loop.store.splits import split
from tests.crashing import killed_before_change
from tests.stream_lines import init, reported
from tests.tasks import claim, submit

PARTS = [{"title": "A", "instructions": ["Do a"]}, {"title": "B", "instructions": ["Do b"]}]


def has_reported(project: Project, now: datetime, task_id: str = "1", **report: Any) -> Task:
    """A task whose run has ended with a report, and waits to be judged."""
    record = project.task_file(project.running, claim(project, submit(project, now), now).id)
    record.rename(project.task_file(project.running, task_id))
    task = locate(project, task_id, now).task
    run = task.runs[-1].uuid
    with project.log(task.id).open("a+b") as log:
        runlog.append(log.fileno(), run, {"event": "started"})
        for line in (init(), reported(**report)):
            log.write(json.dumps(line).encode() + b"\n")
    replace(project.run_file(task.id, "exit"), encode({"run": run, "exit": 0}))
    return task


def test_a_split_is_told_in_the_timeline_and_the_handoff_log(
    project: Project, now: datetime
) -> None:
    task = has_reported(project, now, summary="It is two.", notes="Mind it.", subtasks=PARTS)
    assert finish(project, task, Config(), now).result is None
    parent = locate(project, "1", now)
    assert (parent.state, parent.task.children, parent.task.notes) == ("queued", 2, "Mind it.")
    assert [run.said for run in parent.task.runs] == ["It is two."]
    assert sorted(ids_in(project.queue)) == ["1", "1.1", "1.2"]
    events = [(e["event"], e["task_id"]) for e in timeline.last(project.timeline, 9)][-3:]
    assert events == [("run_completed", "1"), ("task_queued", "1.1"), ("task_queued", "1.2")]
    (entry,) = entries_in(project.progress.read_text())
    assert entry[2:5] == ["task: 1 Do it", "status: split into 1.1, 1.2", "changes: It is two."]
    assert not list(project.running.iterdir())


def test_a_split_that_can_t_be_done_is_a_failure_that_says_why(
    project: Project, now: datetime
) -> None:
    task = has_reported(project, now, "1.1.1.1.1.1.1.1.1", subtasks=PARTS)
    result = finish(project, task, Config(), now).result
    assert result is not None and (result.status, result.reason) == ("failure", "bad_split")
    assert "is split too deeply" in result.summary and "\n" not in result.summary
    assert not ids_in(project.queue)


def test_a_cancel_that_comes_while_a_split_is_judged_is_not_lost(
    project: Project, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = has_reported(project, now, subtasks=PARTS)

    def cancelled_just_before(*given: Any) -> Any:
        queue.request_cancel(project, task, "cancelled", None)
        return split(*given)

    monkeypatch.setattr("loop.actions.finish.split", cancelled_just_before)
    result = finish(project, task, Config(), now).result
    assert result is not None and (result.status, result.reason) == ("failure", "cancelled")
    assert not ids_in(project.queue)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_split_that_is_killed_anywhere_happens_once_and_whole(
    tmp_path_factory: pytest.TempPathFactory, now: datetime
) -> None:
    for step in range(1, 60):
        project = _made(tmp_path_factory.mktemp("p"))
        task = has_reported(project, now, subtasks=PARTS)
        killed = killed_before_change(
            step, project.ai, partial(finish, project, task, Config(), now)
        )
        with transition(project):
            pass  # whoever comes next finishes what was begun
        if project.task_file(project.running, "1").exists():
            finish(project, task, Config(), now)
        assert sorted(ids_in(project.queue)) == ["1", "1.1", "1.2"], step
        events = [e["event"] for e in timeline.last(project.timeline, 99)]
        assert events.count("task_queued") == 3 and events.count("run_completed") == 1, step
        assert len(entries_in(project.progress.read_text())) == 1, step
        if not killed:
            return
    raise AssertionError("the split has more steps than were tried")


def _made(root: Path) -> Project:
    project = Project(root)
    for folder in project.folders():
        folder.mkdir(parents=True)
    return project


def test_a_task_with_commands_that_was_split_can_be_changed_and_get_further_parts(
    project: Project, now: datetime
) -> None:
    task = has_reported(project, now, subtasks=PARTS)
    task.acceptance = ["make test"]
    finish(project, task, Config(), now)
    assert locate(project, "1.2", now).task.acceptance == ["make test"]
    assert queue.edit(project, "1", TaskFields(title="All"), "user", now).acceptance == []
    assert submit(project, now, "One more", parent="1").id == "1.3"
