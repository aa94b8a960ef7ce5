"""A look at the folders while a task moves from one to the next."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from loop.actions.observer import Observer
from loop.core.result import Result
from loop.core.task import Task
from loop.core.transition import new_run
from loop.store import files, queue, scan
from loop.store.paths import Project

NOW = datetime(2026, 2, 3, 10, 0, tzinfo=UTC)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path)
    for folder in made.folders():
        folder.mkdir(parents=True)
    return made


def start(project: Project) -> Task:
    queued = queue.submit(project, {"instructions": ["Work"]}, "user", NOW).task
    claimed = queue.claim(project, "1", new_run(queued, "u-1", NOW), NOW)
    assert claimed is not None
    return claimed


def settle(project: Project, task: Task) -> None:
    result = Result(task_id="1", status="success", summary="Ran.", completed_at=NOW, task={})
    queue.settle(project, task, result, NOW)


def test_a_task_that_ends_while_one_looks_is_told_of_and_not_called_idle(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    observer = Observer(project, {})
    task = start(project)
    news = observer._news
    moves = [lambda: settle(project, task)]

    def news_then_it_ends() -> list[Result]:
        found = news()
        if moves:
            moves.pop()()
        return found

    monkeypatch.setattr(Observer, "_news", lambda _self: news_then_it_ends())
    answer = observer.look(NOW)
    assert answer.data["state"] == "success", answer.data


def test_a_task_that_ends_while_one_looks_for_it_is_found(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = start(project)
    moves = [lambda: settle(project, task)]
    read = files.read

    def read_then_it_ends(path: Path) -> bytes | None:
        data = read(path)
        if moves and path.parent == project.completed:
            moves.pop()()
        return data

    monkeypatch.setattr(scan, "read", read_then_it_ends)
    assert scan.locate(project, "1", NOW).state == "success"
