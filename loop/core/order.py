"""The order of tasks: by priority, then by id."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Mapping
from heapq import heapify, heappop

from loop.core.task import Task, priority_value
from loop.core.task_id import sort_key

Place = tuple[int, tuple[int, ...], str]


def place_of(task: Task) -> Place:
    """Where a task stands among others; the last part is its id."""
    return priority_value(task.priority), sort_key(task.id), task.id


def in_order(tasks: Iterable[Task]) -> list[Task]:
    """Tasks by priority, then by id."""
    return sorted(tasks, key=place_of)


def next_first(tasks: Iterable[Task]) -> Iterator[Task]:
    """The same order, for those who read the first few only: costs less than to sort them all."""
    heap = [(place_of(task), task) for task in tasks]
    heapify(heap)
    while heap:
        yield heappop(heap)[1]


def before(task: Task, tasks: Iterable[Task]) -> int:
    """How many of these tasks come before one in that order."""
    place, priority = place_of(task), priority_value(task.priority)
    return sum(
        priority_value(other.priority) <= priority and place_of(other) < place for other in tasks
    )


class Order:
    """Tasks that are kept in order while some come, go and change."""

    def __init__(self, tasks: Mapping[str, Task]) -> None:
        self._places = sorted(map(place_of, tasks.values()))

    def update(self, old: Task | None, new: Task | None) -> None:
        """One task is another now; None: it is not there."""
        if old is not None:
            del self._places[bisect_left(self._places, place_of(old))]
        if new is not None:
            insort(self._places, place_of(new))

    def __iter__(self) -> Iterator[str]:
        """The ids, in order."""
        return (place[2] for place in self._places)
