"""Which task is next, which are blocked, and by whom."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loop.core.graph import Graph, Stored
from loop.core.order import in_order
from loop.core.rings import on_rings, ring, stands_on_itself
from loop.core.task import Priority, Task
from loop.core.task_id import children_of, parent_of
from tests.core.graph_by_force import ByForce

_NOW = datetime(2026, 7, 23, tzinfo=UTC)
_MANY = 10_000


def _task(task_id: str, *needs: str, priority: Priority = "normal", children: int = 0) -> Task:
    return Task(
        id=task_id,
        instructions=["x"],
        created_at=_NOW,
        depends_on=list(needs),
        priority=priority,
        children=children,
    )


class _World:
    """Tasks and states that change, and what a kept graph is told of it."""

    def __init__(self, *tasks: Task, **states: str) -> None:
        self.queued = {task.id: task for task in tasks}
        self.states = {name.removeprefix("t"): state for name, state in states.items()}
        self.graph = self.fresh()
        self.changed: set[str] = set()
        self.gone: set[str] = set()

    def fresh(self) -> Graph:
        return Graph(self.queued, self.look_up)

    def look_up(self, task_id: str) -> Stored | None:
        state = self.states.get(task_id)
        return None if state is None else Stored(state)

    def put(self, task: Task) -> None:
        self.states.pop(task.id, None)
        self.queued[task.id] = task
        self.changed.add(task.id)

    def move(self, task_id: str, state: str | None) -> None:
        self.queued.pop(task_id, None)
        self.states.pop(task_id, None)
        if state is not None:
            self.states[task_id] = state
        else:
            self.gone.add(task_id)
        self.changed.add(task_id)

    def tell(self) -> None:
        self.graph.update(self.queued, self.changed)
        self.changed.clear()


def _graph(*tasks: Task, **states: str) -> Graph:
    return _World(*tasks, **states).graph


def _next(graph: Graph) -> str | None:
    task = graph.next_ready()
    return task.id if task else None


def test_a_task_is_ready_when_all_that_it_depends_on_are_successes() -> None:
    graph = _graph(_task("3", "1", "2"), t1="success", t2="success")
    assert graph.standing("3").ready and graph.is_ready("3")


@pytest.mark.parametrize("state", ["running", "needs_input"])
def test_what_runs_or_asks_is_waited_for(state: str) -> None:
    standing = _graph(_task("2", "1"), t1=state).standing("2")
    assert (standing.state, standing.ready, standing.waits_for) == ("queued", False, ("1",))


def test_a_failure_blocks_everything_behind_it_and_is_named_as_the_cause() -> None:
    graph = _graph(_task("2", "1"), _task("3", "2"), _task("4", "3"), _task("5"), t1="failure")
    assert graph.blocked() == {"2": "1", "3": "1", "4": "1"}
    assert _next(graph) == "5"


def test_of_several_causes_the_first_by_id_is_named_whatever_failed_first() -> None:
    world = _World(_task("7", "6", "5"), _task("8", "7"), t5="running", t6="failure")
    assert world.graph.blocked() == {"7": "6", "8": "6"}
    world.move("5", "failure")
    world.tell()
    assert world.graph.blocked() == {"7": "5", "8": "5"}


def test_a_parent_that_failed_names_the_subtask_at_the_root() -> None:
    stored = {"1": Stored("failure", "1.2")}
    graph = Graph({"2": _task("2", "1")}, stored.get)
    assert graph.blocked() == {"2": "1.2"}


def test_a_dependency_that_is_not_there_blocks() -> None:
    assert _graph(_task("2", "9")).standing("2").cause == "9"


def test_a_ring_blocks_its_tasks_and_no_others_until_it_is_opened() -> None:
    world = _World(_task("1", "2"), _task("2", "1"), _task("3"), _task("4", "2"))
    assert world.graph.blocked() == {"1": "1", "2": "1", "4": "1"}
    assert _next(world.graph) == "3"
    world.put(_task("1"))
    world.tell()
    assert world.graph.blocked() == {}
    assert _next(world.graph) == "1"


def test_a_block_on_a_ring_does_not_keep_itself_alive() -> None:
    world = _World(_task("8", "1", "9"), _task("9", "8"), t1="failure")
    assert world.graph.blocked() == {"8": "1", "9": "1"}
    world.move("1", "success")
    world.tell()
    assert world.graph.blocked() == {"8": "8", "9": "8"}


def test_subtasks_wait_for_what_their_parents_wait_for() -> None:
    world = _World(
        _task("2", "1", children=1), _task("2.1", children=1), _task("2.1.1"), t1="running"
    )
    assert _next(world.graph) is None
    world.move("1", "success")
    world.tell()
    assert _next(world.graph) == "2.1.1"


def test_a_chain_of_ten_thousand_is_no_trouble() -> None:
    chain = [_task("1"), *(_task(str(n), str(n - 1)) for n in range(2, _MANY + 1))]
    world = _World(*chain)
    assert not world.graph.standing(str(_MANY)).ready
    world.move("1", "failure")
    world.tell()
    assert len(world.graph.blocked()) == _MANY - 1
    assert world.graph.standing(str(_MANY)).cause == "1"
    world.move("1", "success")
    world.tell()
    assert (world.graph.blocked(), _next(world.graph)) == ({}, "2")


def test_a_ring_of_ten_thousand_is_no_trouble() -> None:
    tasks = [_task(str(n), str(n % _MANY + 1)) for n in range(1, _MANY + 1)]
    assert set(_graph(*tasks).blocked().values()) == {"1"}


def test_a_parent_of_ten_thousand_subtasks_is_no_trouble() -> None:
    world = _World(
        _task("1", children=_MANY), *map(_task, children_of("1", _MANY)), _task("2", "1")
    )
    assert (_next(world.graph), world.graph.ended_parents()) == ("1.1", {})
    for child in children_of("1", _MANY):
        world.move(child, "success")
    world.tell()
    assert (_next(world.graph), world.graph.ended_parents()) == ("2", {"1": "success"})


def test_smaller_priorities_come_first_then_ids_by_number() -> None:
    tasks = [_task("10"), _task("9"), _task("11", priority="high"), _task("2", priority=90)]
    assert [t.id for t in in_order(tasks)] == ["11", "9", "10", "2"]


def test_a_ring_is_printed_from_where_it_closes() -> None:
    needs = {"42": ["43"], "43": ["7", "42"], "7": []}
    assert ring(["42"], needs.__getitem__) == ["42", "43", "42"]
    assert ring(["1"], {"1": ["1"]}.__getitem__) == ["1", "1"]
    assert ring(["7"], needs.__getitem__) is None


@given(st.dictionaries(st.sampled_from("abcdef"), st.sets(st.sampled_from("abcdef"))))
def test_rings_are_found_alike_in_all_three_ways(needs: dict[str, set[str]]) -> None:
    users = {n: {i for i, found in needs.items() if n in found} for n in "abcdef"}
    reach = {n: set(needs.get(n, ())) for n in "abcdef"}
    for _ in reach:
        for found in reach.values():
            found.update(*(reach[n] for n in found))
    rings = {n for n in reach if n in reach[n]}
    assert {n for n in reach if stands_on_itself(n, needs, users)} == rings
    assert (ring(needs, lambda n: needs.get(n, ())) is not None) == bool(rings)
    between = {n for n in reach if reach[n] & rings and any(n in reach[r] for r in rings)}
    assert on_rings(needs, users) == rings | between


_SMALL = st.integers(0, 11)
_STEPS = st.lists(st.tuples(st.integers(0, 9), _SMALL, _SMALL, _SMALL), max_size=14)
_STATES = ("success", "failure", "running", "needs_input", None)


def _step(world: _World, step: Sequence[int]) -> None:
    """One change of the world: anything that people, workers and damaged folders can do."""
    verb, which, one, two = step
    known = sorted({*world.queued, *world.states, *world.gone})
    some = [*known, "9"]
    needs = [some[n % len(some)] for n in (one, two) if n < 9]
    task_id = known[which % len(known)] if known else "1"
    task = world.queued.get(task_id)
    match verb:
        case 0 | 1:  # a new task, or a requeued one
            new = str(which % 7 + 1)
            world.put(_task(new, *needs, priority=two % 3, children=_children(known, new)))
        case 2 | 3 if task is not None and task_id.count(".") < 3:
            world.put(_changed(task, children=task.children + 1))
            child = f"{task_id}.{task.children + 1}"
            world.put(_task(child, *needs[:1], priority=two % 3))
        case 4 if task is not None:
            world.put(_changed(task, depends_on=needs))
        case 5 if task is not None:
            world.put(_changed(task, priority=one % 3))
        case 6:  # the first that is ready is run
            first = world.fresh().next_ready()
            if first is not None:
                world.move(first.id, _STATES[one % 4])
        case 7:  # back into the queue
            world.put(_task(task_id, *needs, priority=two % 3, children=_children(known, task_id)))
        case _:
            world.move(task_id, _STATES[one % 5])


def _children(known: list[str], task_id: str) -> int:
    return sum(parent_of(i) == task_id for i in known)


def _changed(task: Task, **fields: Any) -> Task:
    return msgspec.structs.replace(task, **fields)


def _agree(world: _World) -> None:
    force = ByForce(world.queued, world.states)
    for graph in (world.graph, world.fresh()):
        assert _next(graph) == force.next_id()
        assert graph.ended_parents() == force.ended()
        known = force.known()
        assert graph.blocked() == {i: c for i, (state, _, c) in known.items() if state == "blocked"}
        for task_id, expected in known.items():
            standing = graph.standing(task_id)
            assert (standing.state, standing.ready, standing.cause) == expected, task_id


@settings(max_examples=500)
@given(_STEPS, st.integers(1, 3))
def test_a_graph_that_is_kept_a_fresh_one_and_brute_force_agree(
    steps: list[tuple[int, int, int, int]], told_each: int
) -> None:
    world = _World()
    for number, step in enumerate(steps):
        _step(world, step)
        if number % told_each == 0:
            world.tell()
            _agree(world)
    world.tell()
    _agree(world)
