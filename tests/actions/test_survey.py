"""The look at the queue that is kept: it misses nothing that anybody does between two looks."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loop.actions.change import cancel
from loop.actions.survey import Survey
from loop.core.task import Task, TaskFields
from loop.errors import LoopError
from loop.store import queue, timeline
from loop.store.paths import Project
from loop.store.scan import QueueScan, ids_in, locate
from tests.tasks import claim, settle, submit

NOW = datetime(2026, 7, 23, tzinfo=UTC)
STATUSES: list[Literal["success", "failure", "needs_input"]] = ["success", "failure", "needs_input"]


class _Looking:
    """One who looks again and again."""

    def __init__(self, project: Project) -> None:
        self.scan = QueueScan(project, lambda: NOW)
        self.survey = Survey(project, self.scan)

    def next_id(self) -> str | None:
        while True:
            task, moved = self.survey.look(self.scan.look(), NOW)
            if not moved:
                return task.id if task else None


def _next_id(project: Project) -> str | None:
    return _Looking(project).next_id()


def _requeue(project: Project, task_id: str, **fields: object) -> Task:
    changes = TaskFields(**fields)  # type: ignore[arg-type]
    return queue.requeue(project, task_id, changes, None, "user", NOW, max_requeues=99)


def test_a_task_that_comes_and_runs_elsewhere_between_two_looks_is_not_missed(
    project: Project,
) -> None:
    settle(project, claim(project, submit(project, NOW), NOW), NOW, "failure")
    submit(project, NOW, depends_on=["1"])
    kept = _Looking(project)
    assert kept.next_id() is None
    settle(project, claim(project, _requeue(project, "1"), NOW), NOW, "success")
    assert kept.next_id() == "2"
    settle(project, claim(project, _requeue(project, "1"), NOW), NOW, "needs_input")
    assert kept.next_id() is None


def test_blocks_are_told_once_also_over_a_restart(project: Project) -> None:
    settle(project, claim(project, submit(project, NOW), NOW), NOW, "failure")
    submit(project, NOW, depends_on=["1"])
    for _ in range(2):
        kept = _Looking(project)
        assert kept.next_id() is kept.next_id() is None
    told = [e for e in timeline.last(project.timeline, 99) if e["event"] == "task_blocked"]
    assert [(e["task_id"], e["cause"]) for e in told] == [("2", "1")]


def test_a_look_that_fails_is_made_good_by_the_next(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = _Looking(project)
    assert kept.next_id() is None
    submit(project, NOW)

    def fails(*_: object) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as broken:
        broken.setattr("loop.store.timeline.read_from", fails)
        with pytest.raises(OSError, match="Input"):
            kept.next_id()
    assert kept.next_id() == "1"


def test_it_is_due_when_any_task_was_moved(project: Project) -> None:
    kept = _Looking(project)
    kept.next_id()
    assert not kept.survey.is_due
    submit(project, NOW)
    assert kept.survey.is_due
    kept.next_id()
    assert not kept.survey.is_due


def test_what_was_dropped_and_not_taken_in_is_not_next(project: Project) -> None:
    project.task_file(project.queue, "7").write_text('{"instructions": "x"}')
    assert _next_id(project) is None


@contextmanager
def _some_project() -> Iterator[Project]:
    with tempfile.TemporaryDirectory(prefix="loop-test-") as name:
        project = Project(Path(name).resolve())
        for folder in project.folders():
            folder.mkdir(parents=True)
        yield project


def _do(project: Project, verb: int, which: int, other: int) -> None:
    """One thing that somebody does; where it is refused, nothing is done."""
    folders = (project.queue, project.running, project.completed)
    known = sorted({i for folder in folders for i in ids_in(folder)})
    task_id = known[which % len(known)] if known else "1"
    need = known[other % len(known)] if known else "1"
    with suppress(LoopError):
        match verb:
            case 0 | 1:
                submit(project, NOW, f"{len(known)}", depends_on=[need] if known else [])
            case 2:
                submit(
                    project, NOW, f"{len(known)}", parent=task_id, depends_on=[need][which % 2 :]
                )
            case 3:
                queue.edit(project, task_id, TaskFields(depends_on=[need]), "user", NOW)
            case 4:
                queue.edit(project, task_id, TaskFields(priority=other), "user", NOW)
            case 5:
                if ids_in(project.running) == []:
                    cancel(project, task_id, "user", NOW)
            case 6:
                _requeue(project, task_id)
            case _:
                running = ids_in(project.running)
                following = _next_id(project)
                if running:
                    task = locate(project, running[0], NOW).task
                    settle(project, task, NOW, STATUSES[other % 3])
                elif following is not None:
                    claim(project, locate(project, following, NOW).task, NOW)


@settings(max_examples=25)
@given(
    st.lists(
        st.tuples(st.integers(0, 11), st.integers(0, 9), st.integers(0, 9), st.booleans()),
        max_size=25,
    )
)
def test_who_keeps_looking_finds_what_one_who_comes_new_finds(
    steps: list[tuple[int, int, int, bool]],
) -> None:
    with _some_project() as project:
        kept = _Looking(project)
        for verb, which, other, looks in steps:
            _do(project, verb, which, other)
            if looks:
                assert kept.next_id() == _next_id(project)
        assert kept.next_id() == _next_id(project)


@pytest.mark.parametrize("known", ["before", "only while it leaves"])
def test_a_task_that_has_ended_is_not_next_while_its_file_is_about_to_be_removed(
    project: Project, known: str
) -> None:
    submit(project, NOW)
    submit(project, NOW, depends_on=["1"])
    file = project.task_file(project.queue, "1")
    written = file.read_bytes()
    kept = _Looking(project)
    if known == "before":
        assert kept.next_id() == "1"
    queue.cancel_queued(project, "1", "user", NOW)
    file.write_bytes(written)
    if known != "before":
        kept.next_id()
        assert kept.survey.is_due
    assert kept.next_id() is None
    assert timeline.last(project.timeline, 1)[0]["event"] == "task_blocked"
