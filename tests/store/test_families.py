"""Parents and subtasks in the folders."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Literal

import pytest

from loop.actions.change import cancel, remove
from loop.core import transition as rules
from loop.core.result import FileChange, Result
from loop.core.task import Task, TaskFields
from loop.errors import BadInput, WrongState
from loop.store import queue, timeline
from loop.store.dependencies import graph_of
from loop.store.locks import locked
from loop.store.parents import roll_up
from loop.store.paths import Project
from loop.store.run_files import cancel_reason
from loop.store.scan import QueueScan, locate
from tests.tasks import claim, settle


def _submit(project: Project, now: datetime, text: str, **fields: Any) -> str:
    return queue.submit(project, {"instructions": text, **fields}, "user", now).task.id


def _end(
    project: Project, now: datetime, task_id: str, status: Literal["success", "failure"]
) -> None:
    settle(project, claim(project, locate(project, task_id, now).task, now), now, status)


def _roll_up(project: Project, now: datetime) -> None:
    graph = graph_of(project, QueueScan(project, lambda: now).look().tasks, now)
    roll_up(project, graph.ended_parents(), now)


def _state(project: Project, now: datetime, task_id: str) -> str:
    return locate(project, task_id, now).state


def _requeue(
    project: Project, now: datetime, task_id: str, changes: TaskFields | None = None
) -> Task:
    fields = changes or TaskFields()
    return queue.requeue(project, task_id, fields, "again", "user", now, max_requeues=9)


@pytest.fixture
def family(project: Project, now: datetime) -> Project:
    """Task 1 with the subtasks 1.1 and 1.2, and task 2 that stands on task 1."""
    _submit(project, now, "parent", priority="high")
    _submit(project, now, "a", parent="1")
    _submit(project, now, "b", parent="1")
    _submit(project, now, "after", depends_on=["1"])
    return project


def test_a_parent_is_not_run_and_its_subtasks_have_its_priority(
    family: Project, now: datetime
) -> None:
    view = QueueScan(family, lambda: now).look()
    assert view.tasks["1.2"].priority == "high"
    first = graph_of(family, view.tasks, now).next_ready()
    assert first is not None and first.id == "1.1"


def test_a_parent_ends_when_its_last_subtask_does(family: Project, now: datetime) -> None:
    _end(family, now, "1.1", "success")
    _roll_up(family, now)
    assert locate(family, "1", now).state == "queued"
    _end(family, now, "1.2", "success")
    _roll_up(family, now)
    assert locate(family, "1", now).state == "success"
    following = graph_of(family, QueueScan(family, lambda: now).look().tasks, now).next_ready()
    assert following is not None and following.id == "2"


def test_a_failed_subtask_fails_the_parent_and_blocks_what_stands_on_it(
    family: Project, now: datetime
) -> None:
    _end(family, now, "1.1", "failure")
    graph = graph_of(family, QueueScan(family, lambda: now).look().tasks, now)
    assert graph.standing("1").state == "failure"
    assert graph.blocked() == {"2": "1.1"}
    assert graph.ended_parents() == {}
    _end(family, now, "1.2", "success")
    _roll_up(family, now)
    assert locate(family, "1", now).state == "failure"


def test_a_requeued_subtask_opens_its_parent_again(family: Project, now: datetime) -> None:
    _end(family, now, "1.1", "failure")
    _end(family, now, "1.2", "success")
    _roll_up(family, now)
    queue.requeue(family, "1.1", TaskFields(), "again", "user", now, max_requeues=9)
    assert locate(family, "1", now).state == "queued"
    _end(family, now, "1.1", "success")
    _roll_up(family, now)
    assert locate(family, "1", now).state == "success"
    events = [e["event"] for e in timeline.last(family.timeline, 50, "1")]
    assert events == ["task_queued", "run_completed", "task_requeued", "run_completed"]


def test_a_parent_is_requeued_by_its_failed_subtasks_alone(family: Project, now: datetime) -> None:
    _end(family, now, "1.1", "success")
    _end(family, now, "1.2", "failure")
    _roll_up(family, now)
    with pytest.raises(BadInput, match="not run itself: change its subtasks"):
        _requeue(family, now, "1", TaskFields(title="new"))
    assert _requeue(family, now, "1").run == 2
    assert [_state(family, now, i) for i in ("1", "1.1", "1.2")] == ["queued", "success", "queued"]
    assert locate(family, "1.2", now).task.guidance == ["again"]
    with pytest.raises(WrongState, match="no subtask of it has failed"):
        _requeue(family, now, "1")


def test_a_requeue_opens_all_parents_above_it(project: Project, now: datetime) -> None:
    _submit(project, now, "outer")
    _submit(project, now, "inner", parent="1")
    _submit(project, now, "a", parent="1.1")
    _submit(project, now, "b", parent="1.1")
    _end(project, now, "1.1.1", "failure")
    queue.edit(project, "1.1.2", TaskFields(depends_on=["1.1.1"]), "user", now)
    _roll_up(project, now)
    assert _state(project, now, "1") == _state(project, now, "1.1") == "failure"
    _requeue(project, now, "1.1")
    assert _state(project, now, "1") == _state(project, now, "1.1") == "queued"


def test_a_requeue_that_would_close_a_ring_is_refused_with_the_ring(
    project: Project, now: datetime
) -> None:
    _submit(project, now, "parent")
    _submit(project, now, "other")
    _submit(project, now, "part", parent="1", depends_on=["2"])
    _end(project, now, "2", "success")
    _end(project, now, "1.1", "success")
    _roll_up(project, now)
    _requeue(project, now, "2", TaskFields(depends_on=["1"]))  # which has ended: no ring yet
    with pytest.raises(BadInput, match=r"1.1 → 2 → 1 → 1.1"):
        _requeue(project, now, "1.1")
    assert _state(project, now, "1.1") == "success"


def test_a_subtask_that_waits_for_what_stands_on_its_parent_is_refused(
    family: Project, now: datetime
) -> None:
    with pytest.raises(BadInput, match="wait for each other"):
        _submit(family, now, "c", parent="1", depends_on=["2"])
    with pytest.raises(BadInput, match=r"there is no task 1\.3"):
        _submit(family, now, "c", parent="1", depends_on=["1.3"])
    assert locate(family, "1", now).task.children == 2


def test_a_settled_task_takes_no_subtasks(project: Project, now: datetime) -> None:
    _submit(project, now, "x")
    _end(project, now, "1", "success")
    with pytest.raises(WrongState, match="only be added while it waits"):
        _submit(project, now, "y", parent="1")


def test_the_result_of_a_parent_sums_up_those_below_it(project: Project, now: datetime) -> None:
    _submit(project, now, "parent")
    _submit(project, now, "inner", parent="1")
    _submit(project, now, "leaf", parent="1.1")
    _submit(project, now, "other", parent="1")
    for number, (task_id, added) in enumerate((("1.1.1", 2), ("1.2", 3)), 1):
        task = claim(project, locate(project, task_id, now).task, now)
        ended = rules.end_run(
            task, started=now, ended=now + timedelta(seconds=60), status="success", cost=0.25
        )
        result = Result(
            task_id=task_id,
            status="success",
            summary=f"did {task_id}",
            completed_at=now,
            task={},
            commits=[f"c{number}"],
            files_changed=[FileChange("a.py", added, 1)],
        )
        queue.settle(project, ended, result, now)
    _roll_up(project, now)
    found = locate(project, "1", now).result
    assert found is not None
    assert (found.status, found.runs, found.cost_usd, found.duration_s) == ("success", 2, 0.5, 120)
    assert (found.commits, found.files_changed) == (["c1", "c2"], [FileChange("a.py", 5, 2)])
    assert found.summary.splitlines()[0] == "2 of 2 subtasks succeeded."
    assert "- 1.2 success: did 1.2" in found.summary


def test_what_stands_on_a_failed_parent_is_blocked_by_the_same_task_before_and_after_its_end(
    family: Project, now: datetime
) -> None:
    _end(family, now, "1.2", "failure")
    assert _blocked(family, now) == {"2": "1.2"}
    _end(family, now, "1.1", "success")
    _roll_up(family, now)
    assert _blocked(family, now) == {"2": "1.2"}


def _blocked(project: Project, now: datetime) -> dict[str, str]:
    graph = graph_of(project, QueueScan(project, lambda: now).look().tasks, now)
    return dict(graph.blocked())


def test_a_parent_whose_subtask_was_requeued_meanwhile_does_not_end(
    family: Project, now: datetime
) -> None:
    _end(family, now, "1.1", "success")
    _end(family, now, "1.2", "success")
    graph = graph_of(family, QueueScan(family, lambda: now).look().tasks, now)
    ended = graph.ended_parents()
    _requeue(family, now, "1.2")
    assert not roll_up(family, ended, now)
    assert _state(family, now, "1") == "queued"


def test_a_parent_is_cancelled_with_its_waiting_subtasks_and_requeued_with_them(
    family: Project, now: datetime
) -> None:
    _end(family, now, "1.1", "success")
    cancel(family, "1", "user", now)
    assert _state(family, now, "1") == _state(family, now, "1.2") == "failure"
    assert _blocked(family, now) == {"2": "1"}
    assert cancel(family, "1", "user", now).result is not None
    _requeue(family, now, "1")
    assert [_state(family, now, i) for i in ("1", "1.1", "1.2")] == ["queued", "success", "queued"]


def test_the_running_subtask_of_a_cancelled_parent_is_asked_to_end(
    family: Project, now: datetime
) -> None:
    claim(family, locate(family, "1.1", now).task, now)
    with locked(family.worker_lock):
        cancel(family, "1", "user", now)
    assert cancel_reason(family, "1.1") == "cancelled"
    assert _state(family, now, "1.2") == "failure"


def test_a_parents_new_priority_goes_to_the_waiting_subtasks_that_had_the_old_one(
    family: Project, now: datetime
) -> None:
    queue.edit(family, "1.2", TaskFields(priority=7), "user", now)
    queue.edit(family, "1", TaskFields(priority="low"), "user", now)
    tasks = QueueScan(family, lambda: now).look().tasks
    assert (tasks["1.1"].priority, tasks["1.2"].priority) == ("low", 7)


def test_a_task_stays_a_part_of_its_parent(family: Project, now: datetime) -> None:
    with pytest.raises(BadInput, match=r"task 1.1 stays a part of task 1"):
        queue.edit(family, "1.1", TaskFields(parent="2"), "user", now)


def test_a_subtask_is_not_removed_from_under_its_parent(family: Project, now: datetime) -> None:
    with pytest.raises(WrongState, match="a part of 1, which would fail without it"):
        remove(family, "1.1", "user", now, force=False)
    with pytest.raises(WrongState, match="2 stands on task 1 and would be blocked"):
        remove(family, "1", "user", now, force=False)
    remove(family, "1.1", "user", now, force=True)
    assert _blocked(family, now) == {"2": "1.1"}


def test_a_task_with_commands_to_pass_takes_no_subtasks_since_nobody_would_run_them(
    project: Project, now: datetime
) -> None:
    _submit(project, now, "x", acceptance=["make test"])
    with pytest.raises(
        BadInput, match=r"task 1 has acceptance commands.* is not run itself.*; edit_task 1 with an"
    ):
        _submit(project, now, "y", parent="1")
    queue.edit(project, "1", TaskFields(acceptance=[]), "user", now)
    _submit(project, now, "y", parent="1")
    with pytest.raises(BadInput, match="give them to a subtask"):
        queue.edit(project, "1", TaskFields(acceptance=["make test"]), "user", now)


def test_subtasks_nest_nine_deep_and_no_deeper(project: Project, now: datetime) -> None:
    task_id = _submit(project, now, "x")
    for _ in range(8):
        task_id = _submit(project, now, "x", parent=task_id)
    with pytest.raises(BadInput, match="too deep down"):
        _submit(project, now, "x", parent=task_id)


def test_a_subtask_that_is_sent_twice_is_queued_once_whatever_priority_it_inherits(
    family: Project, now: datetime
) -> None:
    first = _submit(family, now, "kid", parent="1", key="k")
    assert _submit(family, now, "kid", parent="1", key="k") == first
    other = _submit(family, now, "other", parent="1")
    assert _submit(family, now, "other", parent="1") == other
    queue.edit(family, "1", TaskFields(priority="low"), "user", now)
    assert _submit(family, now, "kid", parent="1", key="k") == first
    assert _submit(family, now, "other", parent="1") == other
    assert locate(family, "1", now).task.children == 4
