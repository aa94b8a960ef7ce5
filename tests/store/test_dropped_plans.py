"""Files that were dropped and refer to each other: dependencies, rings, subtasks."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import pytest

from loop.core.task import TaskFields
from loop.errors import WrongState
from loop.store import queue
from loop.store.by_hand import end_by_hand
from loop.store.intake import take_in, waiting_misfit
from loop.store.paths import Project
from loop.store.scan import QUIET_S, QueueScan, QueueView, ids_in, locate
from tests.tasks import claim, settle


class _Desk:
    """Drops files and has them taken in; time passes as it is told."""

    def __init__(self, project: Project, now: datetime) -> None:
        self.project, self.now = project, now
        self.clock_s = 0.0
        self.scan = QueueScan(project, lambda: now, lambda: self.clock_s)

    def drop(self, task_id: str, **fields: Any) -> None:
        path = self.project.task_file(self.project.queue, task_id)
        path.write_text(json.dumps({"instructions": "x", **fields}))

    def take_in(self, *, after_s: float = 0.0) -> QueueView:
        self.clock_s += after_s
        take_in(self.project, self.scan.look(), self.now)
        return self.scan.look()

    def reasons(self) -> dict[str, str]:
        paths = self.project.invalid.glob("*.json.reason")
        return {path.name.split(".json")[0]: path.read_text() for path in paths}


@pytest.fixture
def desk(project: Project, now: datetime) -> _Desk:
    return _Desk(project, now)


def test_a_ring_is_shown_at_each_of_its_files_and_the_others_run(desk: _Desk) -> None:
    for task_id, need in (("1", "2"), ("2", "1"), ("4", "3")):
        desk.drop(task_id, depends_on=[need])
    desk.drop("3")
    assert sorted(desk.take_in().tasks) == ["3", "4"]
    reasons = desk.reasons()
    assert "1 → 2 → 1" in reasons["0001"]
    assert "2 → 1 → 2" in reasons["0002"]


def test_what_a_file_refers_to_may_come_a_little_later(desk: _Desk) -> None:
    desk.drop("2", depends_on=["1"])
    desk.drop("3.2")
    view = desk.take_in()
    assert view.dropped == ["2", "3.2"] and waiting_misfit(view)
    for task_id in ("1", "3", "3.1"):
        desk.drop(task_id)
    assert desk.take_in(after_s=1).dropped == []
    assert locate(desk.project, "3", desk.now).task.children == 2
    assert ids_in(desk.project.invalid) == []


@pytest.mark.parametrize(
    ("task_id", "fields", "says"),
    [
        ("2", {"depends_on": ["9"]}, "there is no task 9"),
        ("9.1", {}, "there is no task 9 of which it could be a part"),
        ("1.3", {}, "the next subtask of 1 would be 0001.1.json"),
    ],
)
def test_what_never_comes_makes_the_file_invalid(
    desk: _Desk, task_id: str, fields: dict[str, Any], says: str
) -> None:
    queue.submit(desk.project, {"instructions": "first"}, "user", desk.now)
    desk.drop(task_id, **fields)
    assert desk.take_in().dropped == [task_id]
    assert desk.take_in(after_s=QUIET_S).dropped == []
    assert [says in reason for reason in desk.reasons().values()] == [True]


@pytest.mark.parametrize(("name", "parent"), [("2", "1"), ("1.1", "7")])
def test_a_parent_that_is_not_in_the_name_is_refused(desk: _Desk, name: str, parent: str) -> None:
    queue.submit(desk.project, {"instructions": "first"}, "user", desk.now)
    desk.drop(name, parent=parent)
    desk.take_in()
    assert f"it says parent {parent}: then its file would be named" in desk.reasons().popitem()[1]
    assert locate(desk.project, "1", desk.now).task.children == 0


@pytest.mark.parametrize("state", ["running", "success"])
def test_a_subtask_comes_only_while_its_parent_waits(desk: _Desk, state: str) -> None:
    task = queue.submit(desk.project, {"instructions": "first"}, "user", desk.now).task
    running = claim(desk.project, task, desk.now)
    if state == "success":
        settle(desk.project, running, desk.now)
    desk.drop("1.1")
    desk.take_in()
    assert f"task 1 is {state}: subtasks can only be added" in desk.reasons()["0001.1"]


def test_a_dropped_subtask_belongs_to_its_parent_and_has_its_priority(desk: _Desk) -> None:
    queue.submit(desk.project, {"instructions": "p", "priority": "high"}, "user", desk.now)
    desk.drop("1.1", children=5)
    desk.drop("1.2", priority=3)
    tasks = desk.take_in().tasks
    assert [(tasks[i].parent, tasks[i].priority, tasks[i].children) for i in ("1.1", "1.2")] == [
        ("1", "high", 0),
        ("1", 3, 0),
    ]
    assert tasks["1"].children == 2


def test_a_dropped_subtask_that_waits_for_what_waits_for_its_parent_is_refused(
    desk: _Desk,
) -> None:
    desk.drop("1")
    desk.drop("2", depends_on=["1"])
    desk.drop("1.1", depends_on=["2"])
    desk.take_in()
    assert "1.1 → 2 → 1 → 1.1" in desk.reasons()["0001.1"]
    assert locate(desk.project, "1", desk.now).task.children == 0


def test_a_parent_that_is_dropped_over_keeps_its_subtasks(desk: _Desk) -> None:
    desk.drop("1")
    desk.drop("1.1")
    desk.take_in()
    settle(desk.project, claim(desk.project, desk.take_in().tasks["1.1"], desk.now), desk.now)
    desk.drop("1", title="written anew")
    desk.drop("1.2")
    desk.take_in()
    task = locate(desk.project, "1", desk.now).task
    assert (task.title, task.children) == ("written anew", 2)


def test_a_number_that_is_taken_stays_with_the_one_that_has_it(desk: _Desk) -> None:
    desk.drop("1")
    desk.drop("1.1")
    settle(desk.project, claim(desk.project, desk.take_in().tasks["1.1"], desk.now), desk.now)
    desk.drop("1.1")
    desk.take_in()
    assert "the id 1.1 exists already (success)" in desk.reasons()["0001.1"]


def test_an_edit_of_a_task_that_waits_to_be_taken_in_keeps_to_the_rules(desk: _Desk) -> None:
    desk.drop("1")
    queue.edit(desk.project, "1", TaskFields(title="t"), "user", desk.now)
    assert desk.take_in().dropped == []


def test_a_dropped_file_is_looked_at_before_a_person_changes_or_ends_its_task(desk: _Desk) -> None:
    project, now = desk.project, desk.now
    for task_id, need in (("1", "2"), ("2", "1"), ("3", "99")):
        desk.drop(task_id, depends_on=[need])
    desk.drop("8.1")
    for task_id, why in (("1", "1 → 2 → 1"), ("3", "there is no task 99"), ("8.1", "no task 8")):
        name = project.task_file(project.queue, task_id).name
        with pytest.raises(WrongState, match=rf"^\.ai/queue/{name} is no task yet: .*{why}"):
            queue.edit(project, task_id, TaskFields(title="Other"), "user", now)
        with pytest.raises(WrongState):
            queue.cancel_queued(project, task_id, "user", now)
        with pytest.raises(WrongState):
            queue.submit(project, {"instructions": "y", "parent": task_id}, "user", now)
        with pytest.raises(WrongState):
            end_by_hand(project, task_id, "success", None, "user", now, max_lines=500)
    desk.drop("5", depends_on=["6"])
    desk.drop("6")
    assert queue.edit(project, "5", TaskFields(title="Other"), "user", now).title == "Other"


def test_the_number_of_a_dropped_subtask_that_is_removed_is_not_given_again(desk: _Desk) -> None:
    project, now = desk.project, desk.now
    desk.drop("2")
    desk.take_in()
    desk.drop("2.1")
    queue.cancel_queued(project, "2.1", "user", now)
    fields = {"instructions": "new", "parent": "2"}
    assert queue.submit(project, fields, "user", now).task.id == "2.2"
    assert locate(project, "2.2", now).state == "queued"


def test_nothing_comes_to_depend_on_a_file_that_turns_out_to_be_no_task(desk: _Desk) -> None:
    project, now = desk.project, desk.now
    desk.drop("7", depends_on=["99"])
    desk.drop("5", depends_on=["7"])
    with pytest.raises(WrongState, match=r"0007\.json is no task yet: .*no task 99"):
        queue.submit(project, {"instructions": "y", "depends_on": ["7"]}, "user", now)
    assert desk.take_in().dropped == ["5", "7"]
    desk.take_in(after_s=QUIET_S)
    assert desk.take_in(after_s=QUIET_S).tasks == {}
    assert set(desk.reasons()) == {"0005", "0007"}


def test_a_long_chain_that_is_dropped_at_once_is_taken_in_at_once(desk: _Desk) -> None:
    for number in range(1, 60):
        desk.drop(str(number), depends_on=[str(number + 1)])
    desk.drop("60.1", depends_on=["61"])
    desk.drop("60")
    desk.drop("61")
    assert desk.take_in().dropped == []
    assert desk.reasons() == {}
