"""The graph of tasks: what is ready, what is blocked and by whom, and in which order.

A task is ready when all tasks that it depends on are successes, and those that its parents depend
on. A failed or cancelled one blocks everything that stands on it, however far, and is the cause
that is named; one that asks is waited for. A task with subtasks (`42.1` of `42`) is not run itself:
it succeeds when they all have, and fails when one did.

All of it is derived. A graph that is kept is told what changed, and then costs what the change
costs: a task that waits is parked at one of those that it waits for, and looked at again when that
one changes. Nothing recurses: a chain may be as long as the queue.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from loop.core.blocks import Blocks
from loop.core.collecting import uncollected
from loop.core.needs import ancestors, below, is_done, leaves, unmet
from loop.core.order import Order, Place, place_of
from loop.core.task import Task
from loop.core.task_id import parent_of

#: Of a subtask: it may still change by itself or by an answer.
_UNDER_WAY = frozenset({"queued", "running", "needs_input"})


class Stored(NamedTuple):
    """How a task stands that does not wait in the queue."""

    state: str
    #: of a parent that failed: the failed task at the root
    root: str | None = None


@dataclass(frozen=True, slots=True)
class Standing:
    """How a task stands, derived. `cause` is the failed task at the root of a block."""

    state: str
    ready: bool = False
    cause: str | None = None
    #: dependencies that are not successes yet; empty when it is not queued
    waits_for: tuple[str, ...] = ()


#: Entries of the heap beyond two a task: more are cleared away.
_SPARE_ENTRIES = 1000
#: More new entries than this are sorted in at once.
_FEW = 100


class Graph:
    """The queued tasks, and whatever they stand on, looked up when it is needed."""

    def __init__(self, queued: Mapping[str, Task], look_up: Callable[[str], Stored | None]) -> None:
        """`look_up` tells how a task stands that is not queued; None: there is none."""
        self._tasks = dict(queued)
        self._look_up = look_up
        self._stored: dict[str, Stored | None] = {}
        self._parked: dict[str, set[str]] = {}
        self._heap: list[Place] = []
        self._fill_heap()
        self._order: Order | None = None
        self._blocks: Blocks | None = None
        self._blocked: dict[str, str] | None = None
        self._ended: dict[str, str] = {}
        #: tasks of which something changed since the ended parents were last looked for
        self._moved: set[str] = set(self._tasks)

    def update(self, queued: Mapping[str, Task], changed: Iterable[str]) -> None:
        """Takes in what changed: `changed` are all tasks that came, went or moved since.

        `queued` are all queued tasks now; only the changed ones are read from it.
        """
        ids = set(changed)
        for task_id in list(ids):
            self._stored.pop(task_id, None)
            old, new = self._tasks.pop(task_id, None), queued.get(task_id)
            if new is not None:
                self._tasks[task_id] = new
            if self._order is not None:
                self._order.update(old, new)
            newest = new or old
            if newest is not None and _handed_down(old) != _handed_down(new):
                ids.update(task.id for task in below(newest, queued.get))
        for task_id in ids:
            self._look_again_at(task_id)
        if len(self._heap) > 2 * len(self._tasks) + _SPARE_ENTRIES:
            self._fill_heap()
        self._moved |= ids
        if self._blocks is not None:
            self._note_moved(self._blocks, ids)

    @property
    def tasks(self) -> Mapping[str, Task]:
        """The queued tasks."""
        return self._tasks

    def in_order(self) -> Iterator[str]:
        """The ids of the queued tasks, in the order in which they would run if all were ready."""
        if self._order is None:
            self._order = Order(self._tasks)
        return iter(self._order)

    def next_ready(self) -> Task | None:
        """The task that runs next; None when none is ready."""
        while self._heap:
            entry = self._heap[0]
            task = self._tasks.get(entry[2])
            if task is not None and not task.children and place_of(task) == entry:
                need = self._first_unmet(task)
                if need is None:
                    return task
                self._parked.setdefault(need, set()).add(task.id)
            heappop(self._heap)
        return None

    def is_ready(self, task_id: str) -> bool:
        """Whether a task can run now."""
        task = self._tasks.get(task_id)
        return task is not None and not task.children and self._first_unmet(task) is None

    def standing(self, task_id: str) -> Standing:
        """How a task stands. One that is not there counts as failed."""
        task = self._tasks.get(task_id)
        if task is None:
            return Standing(self._leaf_state(task_id), cause=self._root_of(task_id))
        state, cause = self._state_of(task), self._all_blocks().cause(task_id)
        if state != "queued":
            return Standing(state, cause=cause)
        waits_for = tuple(unmet(task, self._tasks.get, self._stored_state))
        return Standing(state, not (waits_for or task.children), None, waits_for)

    def blocked(self) -> Mapping[str, str]:
        """The blocked tasks, each with its cause; the same object as long as nothing changes."""
        blocks = self._all_blocks()
        if self._blocked is None:
            causes = {i: blocks.cause(i) for i in blocks.blocked()}
            self._blocked = {
                i: cause
                for i, cause in causes.items()
                if cause is not None and self._state_of(self._tasks[i]) == "blocked"
            }
        return self._blocked

    def ended_parents(self) -> dict[str, str]:
        """Parents whose last subtask has ended, with `success` or `failure`; inner ones first."""
        self._all_blocks()
        for task_id in {p for i in self._moved for p in (i, *ancestors(i))}:
            state = self._ending_of(task_id)
            if state is not None:
                self._ended[task_id] = state
            else:
                self._ended.pop(task_id, None)
        self._moved.clear()
        return dict(sorted(self._ended.items(), key=lambda pair: -pair[0].count(".")))

    @uncollected()
    def _fill_heap(self) -> None:
        self._parked.clear()
        self._heap = []
        for task in self._tasks.values():
            if not task.children:
                need = self._waiting_need(task)
                if need is None:
                    self._heap.append(place_of(task))
                else:
                    self._parked.setdefault(need, set()).add(task.id)
        heapify(self._heap)

    def _waiting_need(self, task: Task) -> str | None:
        """A dependency that waits in the queue: with one, a task is parked without being sorted."""
        for need in task.depends_on:
            other = self._tasks.get(need)
            if other is not None and not other.children:
                return need
        return None

    def _look_again_at(self, task_id: str) -> None:
        """Takes a changed task into account, and those that waited for it or for its parents."""
        waiting = {task_id}
        for place in (task_id, *ancestors(task_id)):
            if place in self._parked and is_done(place, self._tasks.get, self._stored_state):
                waiting |= self._parked.pop(place)
        entries = [
            place_of(task)
            for task in map(self._tasks.get, waiting)
            if task is not None and not task.children
        ]
        if len(entries) > _FEW:
            self._heap += entries
            heapify(self._heap)
        else:
            for entry in entries:
                heappush(self._heap, entry)

    def _first_unmet(self, task: Task) -> str | None:
        return next(unmet(task, self._tasks.get, self._stored_state), None)

    def _stored_at(self, task_id: str) -> Stored | None:
        if task_id not in self._stored:
            self._stored[task_id] = self._look_up(task_id)
        return self._stored[task_id]

    def _stored_state(self, task_id: str) -> str | None:
        stored = self._stored_at(task_id)
        return stored.state if stored is not None else None

    def _root_of(self, task_id: str) -> str | None:
        stored = self._stored_at(task_id)
        if stored is not None and stored.state != "failure":
            return None
        return stored.root or task_id if stored is not None else task_id

    def _all_blocks(self) -> Blocks:
        """The blocks; whoever only wants the next task never has them made."""
        if self._blocks is None:
            with uncollected():
                self._blocks = Blocks(self._tasks.get, self._root_of)
                self._note_moved(self._blocks, self._tasks)
        return self._blocks

    def _note_moved(self, blocks: Blocks, ids: Iterable[str]) -> None:
        known = self._blocked or {}
        other_cause = blocks.update(ids)
        self._moved |= other_cause
        if other_cause or any(parent_of(i) or i in known or blocks.cause(i) for i in ids):
            self._blocked = None

    def _leaf_state(self, task_id: str) -> str:
        """The state of a task without regard to subtasks."""
        if task_id not in self._tasks:
            return self._stored_state(task_id) or "failure"
        return "queued" if self._all_blocks().cause(task_id) is None else "blocked"

    def _state_of(self, task: Task) -> str:
        if not task.children:
            return self._leaf_state(task.id)
        states = {self._leaf_state(leaf) for leaf in leaves(task.id, self._tasks.get)}
        for state in ("failure", "blocked", "running", "needs_input"):
            if state in states:
                return state
        return states.pop() if len(states) == 1 else "running"

    def _ending_of(self, task_id: str) -> str | None:
        """How a waiting parent has ended; None when it has not, or is none."""
        task = self._tasks.get(task_id)
        if task is None or not task.children:
            return None
        states = set()
        for leaf in leaves(task_id, self._tasks.get):
            state = self._leaf_state(leaf)
            if state in _UNDER_WAY:
                return None
            states.add(state)
        if states == {"success"}:
            return "success"
        return "failure" if "failure" in states else None


def _handed_down(task: Task | None) -> list[str] | None:
    """What a task's subtasks depend on because of it; None: nothing, and nothing from above it."""
    return task.depends_on if task is not None else None
