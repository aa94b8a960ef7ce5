"""Making the project index: git's list of files, else a walk, both bounded."""

from __future__ import annotations

import os
import subprocess
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from loop.actions.project_index import refresh_index
from loop.core.task import Run, Task
from loop.git.command import repository_of
from loop.git.files import listed_files
from loop.git.snapshot import ref_of, take
from loop.store.paths import Project
from loop.store.project_index import index_file, index_lines, walk


def fill(root: Path) -> None:
    for name in ("src/a.py", "src/b.py", "secret.env", "node_modules/x/index.js", "build/out.o"):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")


def git(root: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=root, check=True, timeout=60, capture_output=True)


def test_files_that_git_ignores_are_not_told_of_but_new_ones_are(
    project: Project, now: datetime
) -> None:
    git(project.root, "init", "-q")
    fill(project.root)
    (project.root / ".gitignore").write_text("*.env\n.ai/\n")
    git(project.root, "add", "src/a.py")
    assert refresh_index(project, now)
    page = index_file(project).read_text()
    assert "- .py: 2" in page and "secret" not in page and "node_modules" not in page
    assert index_lines(project, 3) == ["# Project index: project", "", page.splitlines()[2]]


def test_a_project_inside_a_repository_tells_of_its_own_files_only(
    project: Project, now: datetime
) -> None:
    git(project.root.parent, "init", "-q")
    (project.root.parent / "outside.txt").write_text("")
    fill(project.root)
    listed = listed_files(project.root, 1000)
    assert listed is not None and "src/a.py" in listed[0]
    assert not any("outside" in path for path in listed[0])


def test_without_git_the_folders_are_walked(project: Project, now: datetime) -> None:
    fill(project.root)
    (project.root / "link").symlink_to(project.root)
    assert refresh_index(project, now)
    assert "- .py: 2" in index_file(project).read_text()
    paths, whole = walk(project.root)
    assert whole and paths == ["secret.env", "src/a.py", "src/b.py"]


def test_a_walk_stops_at_its_bounds_and_says_so(project: Project) -> None:
    fill(project.root)
    assert walk(project.root, max_files=2) == (["secret.env", "src/a.py"], False)
    clock = iter([0.0, 100.0, 200.0])
    paths, whole = walk(project.root, within_s=5, monotonic=lambda: next(clock))
    assert (paths, whole) == (["secret.env"], False)


def test_git_s_list_is_cut_at_its_bound_and_says_so(project: Project) -> None:
    git(project.root, "init", "-q")
    fill(project.root)
    assert listed_files(project.root, 2) == (["secret.env", "src/a.py"], False)


@pytest.mark.skipif(os.name == "nt", reason="names are Unicode there")
def test_a_name_that_is_no_utf_8_does_no_harm(project: Project, now: datetime) -> None:
    Path(os.fsdecode(os.fsencode(project.root) + b"/\xff\xfe.txt")).write_text("")
    assert refresh_index(project, now)
    assert "- .txt: 1" in index_file(project).read_text(encoding="utf-8")
    git(project.root, "init", "-q")
    assert refresh_index(project, now, max_age=timedelta(0))
    assert "- .txt: 1" in index_file(project).read_text(encoding="utf-8")


def test_a_fresh_page_is_left_alone(project: Project) -> None:
    assert refresh_index(project, datetime.now().astimezone())
    assert not refresh_index(project, datetime.now().astimezone())
    later = datetime.now().astimezone() + timedelta(minutes=11)
    assert refresh_index(project, later)


def test_before_a_run_the_page_is_made_anew_only_where_files_changed(
    project: Project, now: datetime
) -> None:
    git(project.root, "init", "-q")
    fill(project.root)

    def a_run(number: int) -> Task:
        repository = repository_of(project.root)
        assert repository is not None
        before = take(repository, ref_of(project.root, "1", number, "before"), max_file_mb=1)
        run = Run(number=number, uuid="u", started=now, before=before.commit)
        return Task(id="1", instructions=["x"], created_at=now, runs=[run])

    assert refresh_index(project, now, a_run(1))
    assert not refresh_index(project, now, a_run(2))
    (project.root / "src/c.py").write_text("")
    assert refresh_index(project, now, a_run(3))
    assert "- .py: 3" in index_file(project).read_text()
    index_file(project).write_text("Made by hand (tree).\n")
    assert refresh_index(project, now, a_run(3))
