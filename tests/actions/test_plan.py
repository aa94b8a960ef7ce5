"""A whole plan at once: all of it is queued, or none."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from loop.actions.plan import queue_plan
from loop.actions.plan_check import PlanTask
from loop.core.checks import convert
from loop.core.task import TaskFields
from loop.errors import BadInput
from loop.store import queue, timeline
from loop.store.dependencies import graph_of
from loop.store.parents import roll_up
from loop.store.paths import Project
from loop.store.scan import QueueScan, ids_in, locate
from tests.tasks import claim, settle, submit


def _tasks(*tasks: dict[str, Any]) -> list[PlanTask]:
    return [convert({"instructions": t.get("ref", "x"), **t}, PlanTask) for t in tasks]


_TEAM = (
    {"ref": "test", "depends_on": ["build"], "role": "tester"},
    {"ref": "design", "role": "architect"},
    {"ref": "build", "depends_on": ["design"], "priority": "high"},
    {"ref": "docs"},
)


def test_a_plan_is_queued_with_the_ids_of_its_refs(project: Project, now: datetime) -> None:
    made = queue_plan(project, _tasks(*_TEAM), "architect", now, dry_run=False)
    assert made.ids == {"test": "1", "design": "2", "build": "3", "docs": "4"}
    queued = QueueScan(project, lambda: now).look().tasks
    assert queued["1"].depends_on == ["3"]
    assert queued["3"].depends_on == ["2"]
    assert [e["task_id"] for e in timeline.last(project.timeline, 9)] == ["1", "2", "3", "4"]


def test_the_order_and_the_longest_chain_are_told(project: Project, now: datetime) -> None:
    made = queue_plan(project, _tasks(*_TEAM), "architect", now, dry_run=True)
    assert made.order == ["design", "build", "test", "docs"]
    assert made.critical_path == ["design", "build", "test"]


def test_a_dry_run_queues_nothing(project: Project, now: datetime) -> None:
    made = queue_plan(project, _tasks(*_TEAM), "architect", now, dry_run=True)
    assert set(made.ids.values()) == {None}
    assert list(project.queue.iterdir()) == []


def test_subtasks_get_the_ids_and_the_priority_of_their_parent(
    project: Project, now: datetime
) -> None:
    tasks = _tasks(
        {"ref": "a", "parent": "all"}, {"ref": "all", "priority": "high"},
        {"ref": "b", "parent": "all", "depends_on": ["a"]},
    )  # fmt: skip
    made = queue_plan(project, tasks, "architect", now, dry_run=False)
    assert made.ids == {"a": "1.1", "all": "1", "b": "1.2"}
    assert made.order == ["a", "b"]
    queued = QueueScan(project, lambda: now).look().tasks
    assert queued["1"].children == 2
    assert queued["1.2"].priority == "high"


def test_the_same_plan_sent_again_is_queued_once(project: Project, now: datetime) -> None:
    first = queue_plan(project, _tasks(*_TEAM), "architect", now, dry_run=False)
    again = queue_plan(project, _tasks(*_TEAM), "architect", now, dry_run=False)
    assert (again.ids, len(ids_in(project.queue))) == (first.ids, 4)
    assert again.note is not None
    for task_id in ids_in(project.queue):
        queue.cancel_queued(project, task_id, "user", now)
    anew = queue_plan(project, _tasks(*_TEAM), "architect", now, dry_run=False)
    assert anew.ids["docs"] == "8", "once all of it has ended, it is a new plan"


def test_under_a_key_a_plan_is_queued_once_for_ever(project: Project, now: datetime) -> None:
    made = queue_plan(project, _tasks({"ref": "a"}), "architect", now, dry_run=False, key="k")
    queue.cancel_queued(project, "1", "user", now)
    again = queue_plan(project, _tasks({"ref": "a"}), "architect", now, dry_run=False, key="k")
    assert again.ids == made.ids
    with pytest.raises(BadInput, match="'k' was used for a plan"):
        queue_plan(project, _tasks({"ref": "b"}), "architect", now, dry_run=False, key="k")
    assert ids_in(project.queue) == []


def test_all_problems_are_told_at_once_and_a_dry_run_lists_them(
    project: Project, now: datetime
) -> None:
    plan = _tasks({"ref": "a", "depends_on": ["x"]}, {"ref": "b", "parent": "y"})
    with pytest.raises(BadInput, match=r"'x' is neither.*\(b\).parent: 'y'.*Nothing was"):
        queue_plan(project, plan, "user", now, dry_run=False)
    made = queue_plan(project, plan, "user", now, dry_run=True)
    assert [p.partition(":")[0] for p in made.problems] == [
        "tasks[0] (a).depends_on[0]",
        "tasks[1] (b).parent",
    ]


def test_a_plan_may_hang_below_a_task_that_is_there_but_not_wait_for_it(
    project: Project, now: datetime
) -> None:
    parent = submit(project, now, "all", priority="high")
    later = submit(project, now, "later", depends_on=[parent.id])
    made = queue_plan(
        project, _tasks({"ref": "a", "parent": parent.id}), "user", now, dry_run=False
    )
    assert made.ids == {"a": f"{parent.id}.1"}
    ring = _tasks({"ref": "b", "parent": parent.id, "depends_on": [later.id]})
    for dry_run in (True, False):
        words = f"b → task {later.id} → task {parent.id} → b"
        if dry_run:
            (problem,) = queue_plan(project, ring, "user", now, dry_run=True).problems
            assert words in problem
        else:
            with pytest.raises(BadInput, match=words):
                queue_plan(project, ring, "user", now, dry_run=False)


def test_the_order_that_is_told_is_the_order_in_which_it_runs(
    project: Project, now: datetime
) -> None:
    plan = _tasks(
        {"ref": "z", "depends_on": ["all"], "priority": 1},
        {"ref": "all", "depends_on": ["first"], "priority": "low"},
        {"ref": "p2", "parent": "all", "priority": "high"},
        {"ref": "p1", "parent": "all"},
        {"ref": "deep", "parent": "p1"},
        {"ref": "first", "priority": "low"},
        {"ref": "side"},
    )
    made = queue_plan(project, plan, "user", now, dry_run=False)
    refs = {task_id: ref for ref, task_id in made.ids.items()}
    ran = []
    scan = QueueScan(project, lambda: now)
    while True:
        graph = graph_of(project, scan.look().tasks, now)
        if ended := graph.ended_parents():
            roll_up(project, ended, now)
            continue
        task = graph.next_ready()
        if task is None:
            break
        ran.append(refs[task.id])
        settle(project, claim(project, task, now), now)
    assert made.order == ran == ["side", "first", "p2", "deep", "z"]
    assert made.critical_path == ["first", "p2", "z"] or made.critical_path[1] == "deep"
    assert "3 of them" in made.words


def test_a_plan_of_200_is_told_in_few_words(project: Project, now: datetime) -> None:
    plan = _tasks(*({"ref": f"t{n}", "depends_on": [f"t{n - 1}"] * (n > 0)} for n in range(200)))
    made = queue_plan(project, plan, "user", now, dry_run=True)
    assert len(made.critical_path) == 200
    assert "200 of them" in made.words
    assert "t0 → t1 → t2 → t3 → (193 more) → t197" in made.words


@pytest.mark.parametrize(
    ("tasks", "says"),
    [
        ([{"ref": "a", "depends_on": ["b"]}, {"ref": "b", "depends_on": ["a"]}], "a → b → a"),
        ([{"ref": "a", "depends_on": ["a"]}], "a → a"),
        ([{"ref": "a"}, {"ref": "a"}], r"tasks\[1\].ref: 'a' is used twice"),
        ([{"ref": "a", "depends_on": ["9"]}], r"tasks\[0\] \(a\).depends_on\[0\]: '9' is neither"),
        ([{"ref": "a", "parent": "zz"}], r"tasks\[0\] \(a\).parent: 'zz' is neither"),
        ([{"ref": "a", "instructions": [" "]}], r"tasks\[0\] \(a\).instructions: is required"),
        ([{"ref": "a", "parent": "b", "depends_on": ["b"]}, {"ref": "b"}], "wait for each other"),
        ([{"ref": "a", "parent": "b"}, {"ref": "b", "parent": "a"}], "parts of each other: a → b"),
        (
            [{"ref": "a", "acceptance": ["make test"]}, {"ref": "b", "parent": "a"}],
            r"tasks\[0\] \(a\).acceptance: has .* is not run itself",
        ),
        ([], "give 1 to 200 tasks"),
    ],
)
def test_a_plan_with_a_fault_is_refused_whole(
    project: Project, now: datetime, tasks: list[dict[str, Any]], says: str
) -> None:
    with pytest.raises(BadInput, match=says):
        queue_plan(project, _tasks(*tasks), "user", now, dry_run=False)
    assert list(project.queue.iterdir()) == []
    assert not project.timeline.exists()


def test_a_plan_may_not_stand_on_what_waits_for_its_own_parent(
    project: Project, now: datetime
) -> None:
    queue_plan(project, _tasks({"ref": "p"}, {"ref": "q", "depends_on": ["p"]}), "user", now,
               dry_run=False)  # fmt: skip
    parts = _tasks({"ref": "a", "parent": "1"}, {"ref": "b", "parent": "1", "depends_on": ["2"]})
    with pytest.raises(BadInput, match="b → task 2 → task 1 → b"):
        queue_plan(project, parts, "user", now, dry_run=False)
    assert sorted(ids_in(project.queue)) == ["1", "2"]


def test_a_dry_run_refuses_a_parent_that_would_be_refused_and_names_the_ref(
    project: Project, now: datetime
) -> None:
    submit(project, now, "held to commands", acceptance=["make test"])
    settle(project, claim(project, submit(project, now, "ended"), now), now)
    submit(project, now, "to be tried again")
    settle(project, claim(project, locate(project, "3", now).task, now), now, "failure")
    queue.requeue(project, "3", TaskFields(), "again", "user", now, max_requeues=9)
    for parent, says in (("1", "has acceptance commands"), ("2", "is success: subtasks can only")):
        plan = _tasks({"ref": "a", "parent": parent})
        (problem,) = queue_plan(project, plan, "user", now, dry_run=True).problems
        assert problem.startswith(f"tasks[0] (a).parent: task {parent} {says}")
    made = queue_plan(project, _tasks({"ref": "a", "parent": "3"}), "user", now, dry_run=False)
    assert made.ids == {"a": "3.1"}
