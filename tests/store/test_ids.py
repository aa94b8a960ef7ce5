from __future__ import annotations

from datetime import datetime

import pytest

from loop.core.task import TaskFields
from loop.store import queue
from loop.store.ids import next_id
from loop.store.journal import transition
from loop.store.paths import Project
from tests.tasks import claim, settle, submit


def given_next(project: Project) -> str:
    with transition(project):
        return next_id(project)


def test_ids_count_up_from_one(project: Project, now: datetime) -> None:
    assert [submit(project, now, f"task {n}").id for n in range(3)] == ["1", "2", "3"]


def test_an_id_is_not_given_again_in_whatever_state_its_task_is(
    project: Project, now: datetime
) -> None:
    settled = settle(project, claim(project, submit(project, now, "a"), now), now)
    claim(project, submit(project, now, "b"), now)
    queue.cancel_queued(project, submit(project, now, "c").id, "user", now)
    assert settled.id == "1"
    assert given_next(project) == "4"


@pytest.mark.parametrize("counter", [None, b"", b"\n", b"x", b"0", b"-3", b"9" * 30, b"1", b"\xb2"])
def test_a_lost_or_damaged_counter_gives_no_id_twice(
    project: Project, now: datetime, counter: bytes | None
) -> None:
    for n in range(3):
        submit(project, now, f"task {n}")
    path = project.state / "next_id"
    path.unlink()
    if counter is not None:
        path.write_bytes(counter)
    assert submit(project, now, "new").id == "4"
    assert submit(project, now, "newer").id == "5"


def test_ids_of_dropped_files_logs_and_subtasks_are_taken(project: Project) -> None:
    (project.queue / "0007.json").write_bytes(b"{}")
    (project.completed / "0009.2.json").write_bytes(b"{}")
    (project.logs / "0010.log").write_bytes(b"")
    assert given_next(project) == "11"
    (project.queue / "0012.json").write_bytes(b"{}")
    assert given_next(project) == "13"


def test_a_requeue_keeps_the_id(project: Project, now: datetime) -> None:
    settle(project, claim(project, submit(project, now), now), now)
    again = queue.requeue(project, "1", TaskFields(), None, "user", now, max_requeues=3)
    assert (again.id, again.run) == ("1", 2)
    assert submit(project, now, "other").id == "2"
