"""The order of the queue: which task comes next."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from heapq import heapify, heappop

from loop.core.task import Task, priority_value
from loop.core.task_id import sort_key


def in_order(tasks: Iterable[Task]) -> list[Task]:
    """Tasks by priority, then by id."""
    return sorted(tasks, key=_key)


def next_first(tasks: Iterable[Task]) -> Iterator[Task]:
    """The same order, for those who read the first few only: costs less than to sort them all."""
    heap = [(_key(task), task.id, task) for task in tasks]
    heapify(heap)
    while heap:
        yield heappop(heap)[2]


def next_ready(tasks: Iterable[Task], is_success: Callable[[str], bool]) -> Task | None:
    """The first task whose dependencies are all successes; None when there is none."""
    ready = (t for t in tasks if all(is_success(d) for d in t.depends_on))
    return min(ready, key=_key, default=None)


def _key(task: Task) -> tuple[int, tuple[int, ...]]:
    return priority_value(task.priority), sort_key(task.id)
