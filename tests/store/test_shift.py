"""The binding of the queue to a session: what can be read of it, and who may claim under it."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import pytest

from loop.core import transition as rules
from loop.core.task import Run, Task
from loop.errors import BadInput
from loop.store import queue
from loop.store.journal import transition
from loop.store.paths import Project
from loop.store.shift import Shift, living, put_shift, read_shift
from tests.tasks import submit


def bind(project: Project, now: datetime, session: str = "session-a") -> Shift:
    shift = Shift(session=session, pid=4242, start=1, boot="b", since=now)
    with transition(project) as t:
        put_shift(t, shift)
    return shift


def run_of(task: Task, now: datetime) -> Run:
    return rules.new_run(task, "uuid-1", now)


def test_a_binding_is_read_as_it_was_written(project: Project, now: datetime) -> None:
    assert read_shift(project) is None
    assert bind(project, now) == read_shift(project)


@pytest.mark.parametrize(
    "change",
    [
        {"session": ""},
        {"session": "../../x"},
        {"pid": 0},
        {"pid": "4242"},
        {"since": "2026-07-23T10:00:00"},
        {"more": 1},
        {"iterations": -1},
        {"limits": {"max_iterations": 0}},
    ],
)
def test_what_is_no_binding_is_void(
    project: Project, now: datetime, change: dict[str, Any]
) -> None:
    bind(project, now)
    project.shift.write_text(json.dumps(json.loads(project.shift.read_text()) | change))
    with pytest.raises(BadInput):
        read_shift(project)
    assert living(project, lambda _: True) is None


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "\x00\xff"])
def test_a_damaged_binding_is_void(project: Project, text: str) -> None:
    project.shift.write_text(text)
    with pytest.raises(BadInput):
        read_shift(project)


def test_under_a_living_binding_only_its_session_claims(project: Project, now: datetime) -> None:
    task = submit(project, now)
    bind(project, now)
    run = run_of(task, now)
    assert queue.claim(project, "1", run, now) is None
    assert queue.claim(project, "1", run, now, session="session-b") is None
    assert queue.claim(project, "1", run, now, session="session-a") is not None
    shift = read_shift(project)
    assert shift is not None
    assert (shift.task, shift.run, shift.iterations) == ("1", "uuid-1", 1)


def test_a_dead_binding_keeps_nobody_but_its_session_from_claiming(
    project: Project, now: datetime
) -> None:
    task = submit(project, now)
    bind(project, now)
    run = run_of(task, now)
    dead = queue.claim(project, "1", run, now, session="session-a", alive=lambda _: False)
    assert dead is None
    assert queue.claim(project, "1", run, now, alive=lambda _: False) is not None


def test_without_a_binding_no_session_claims(project: Project, now: datetime) -> None:
    task = submit(project, now)
    assert queue.claim(project, "1", run_of(task, now), now, session="session-a") is None


def test_one_who_claims_alone_waits_for_the_run_that_goes_on(
    project: Project, now: datetime
) -> None:
    first, second = submit(project, now), submit(project, now, "other")
    assert queue.claim(project, first.id, run_of(first, now), now, alone=True) is not None
    assert queue.claim(project, second.id, run_of(second, now), now, alone=True) is None
