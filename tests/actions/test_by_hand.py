"""Ending a task without a run, and taking one out of the queue."""

from __future__ import annotations

from datetime import datetime

import pytest

from loop.actions.change import end_by_hand, remove
from loop.errors import WrongState
from loop.store import timeline
from loop.store.dependencies import graph_of
from loop.store.parents import roll_up
from loop.store.paths import Project
from loop.store.scan import QueueScan, ids_in, locate
from tests.tasks import claim, settle, submit


def test_a_queued_task_ends_by_hand_and_frees_what_stands_on_it(
    project: Project, now: datetime
) -> None:
    task = submit(project, now, "a")
    later = submit(project, now, "b", depends_on=[task.id])
    end_by_hand(project, task.id, "success", "I did it myself", "user", now)
    located = locate(project, task.id, now)
    assert located.result is not None
    assert (located.state, located.result.reason) == ("success", "by_hand")
    assert (located.result.summary, located.result.cost_usd) == ("I did it myself", 0.0)
    (event,) = timeline.last(project.timeline, 1)
    assert (event["event"], event["actor"], event["reason"]) == ("run_completed", "user", "by_hand")
    graph = graph_of(project, QueueScan(project, lambda: now).look().tasks, now)
    assert graph.is_ready(later.id)
    assert ids_in(project.queue) == [later.id]


def test_a_failure_is_corrected_by_hand_and_keeps_what_is_known_of_its_run(
    project: Project, now: datetime
) -> None:
    task = settle(project, claim(project, submit(project, now), now), now, "failure")
    end_by_hand(project, task.id, "success", None, "user", now)
    located = locate(project, task.id, now)
    assert located.result is not None
    assert (located.state, located.result.reason) == ("success", "by_hand")
    assert [run.status for run in located.task.runs] == ["failure"]
    before = timeline.size_of(project.timeline)
    end_by_hand(project, task.id, "success", None, "user", now)
    assert timeline.size_of(project.timeline) == before, "the same again changes nothing"


def test_a_corrected_part_has_its_parent_end_anew(project: Project, now: datetime) -> None:
    parent = submit(project, now, "all")
    part = submit(project, now, "part", parent=parent.id)
    settle(project, claim(project, part, now), now, "failure")
    roll_up(project, {parent.id: "failure"}, now)
    end_by_hand(project, part.id, "success", None, "user", now)
    graph = graph_of(project, QueueScan(project, lambda: now).look().tasks, now)
    assert graph.ended_parents() == {parent.id: "success"}


def test_what_runs_and_what_has_subtasks_is_not_ended_by_hand(
    project: Project, now: datetime
) -> None:
    parent = submit(project, now, "all")
    part = submit(project, now, "part", parent=parent.id)
    with pytest.raises(WrongState, match="ends with its subtasks"):
        end_by_hand(project, parent.id, "success", None, "user", now)
    claim(project, part, now)
    with pytest.raises(WrongState, match="is running: cancel_task ends its run first"):
        end_by_hand(project, part.id, "failure", None, "user", now)


def test_a_task_that_others_stand_on_is_removed_by_force_alone_and_they_are_named(
    project: Project, now: datetime
) -> None:
    task = submit(project, now, "a")
    near = submit(project, now, "b", depends_on=[task.id])
    far = submit(project, now, "c", depends_on=[near.id])
    with pytest.raises(WrongState, match=f"{near.id} stands on task {task.id} and would be"):
        remove(project, task.id, "user", now, force=False)
    assert locate(project, task.id, now).state == "queued"
    done = remove(project, task.id, "user", now, force=True)
    assert done.blocked == [near.id, far.id]
    assert done.located.result is not None
    assert done.located.result.reason == "cancelled"


def test_a_part_is_removed_by_force_alone_and_a_parent_takes_its_parts_along(
    project: Project, now: datetime
) -> None:
    parent = submit(project, now, "all")
    parts = [submit(project, now, text, parent=parent.id) for text in "ab"]
    with pytest.raises(WrongState, match=f"part of {parent.id}, which would fail"):
        remove(project, parts[0].id, "user", now, force=False)
    claim(project, parts[1], now)
    with pytest.raises(WrongState, match="running"):
        remove(project, parent.id, "user", now, force=False)
    settle(project, locate(project, parts[1].id, now).task, now)
    done = remove(project, parent.id, "user", now, force=False)
    assert done.subtasks == [parts[0].id]
    assert locate(project, parts[1].id, now).state == "success"
    assert not ids_in(project.queue)
