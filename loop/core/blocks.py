"""Which waiting tasks can't run, and which failed task is the cause, kept up to date by changes.

The cause is the failed task itself, however far below; of several, the one with the smallest id,
so it does not depend on the order in which things happened. A task that is not there counts as
failed. Tasks on a ring are blocked by the first of them.

A change is dealt with in two steps. First every cause that may have come through a changed task is
forgotten, in all that stands on it. Then the causes that are left spread again; each only ever
gives way to a smaller one, so this ends, and on a ring no block keeps itself alive.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

from loop.core.needs import Queued, dependencies
from loop.core.rings import on_rings, stands_on_itself
from loop.core.task import Task
from loop.core.task_id import children_of, sort_key

#: The failed task at the root when a task that is not waiting failed; None when it did not.
RootOf = Callable[[str], str | None]
#: With more changes at once, one search for rings over all tasks is the cheaper one.
_FEW = 20


class Blocks:
    """The causes of all blocked tasks."""

    def __init__(self, queued: Queued, root_of: RootOf) -> None:
        self._queued = queued
        self._root_of = root_of
        self._needs: dict[str, dict[str, None]] = {}
        self._users: dict[str, dict[str, None]] = {}
        #: also of failed tasks that are not waiting: themselves, or the root of their failure
        self._causes: dict[str, str] = {}
        self._on_rings: set[str] = set()

    def cause(self, task_id: str) -> str | None:
        """The failed task that keeps a waiting one from running; None when there is none."""
        return self._causes.get(task_id)

    def blocked(self) -> list[str]:
        """All waiting tasks that have a cause."""
        return [task_id for task_id in self._causes if self._queued(task_id) is not None]

    def update(self, changed: Iterable[str]) -> set[str]:
        """Takes in that these tasks came, went, changed, or ended; those whose cause is another."""
        ids = {task_id for task_id in changed if self._matters(task_id)}
        if not ids:
            return ids
        for task_id in list(ids):
            ids.update(self._rewire(task_id))
        rings = self._find_rings(ids)
        ids |= rings ^ self._on_rings
        self._on_rings = rings
        return self._spread(ids)

    def _matters(self, task_id: str) -> bool:
        """Whether anything stands on a task, or it on anything."""
        if task_id in self._users or task_id in self._needs or "." in task_id:
            return True
        task = self._queued(task_id)
        return task is not None and bool(task.depends_on or task.children)

    def _rewire(self, task_id: str) -> list[str]:
        """Puts what a task needs up to date; those needs that nothing here stood on before."""
        task = self._queued(task_id)
        new = dict.fromkeys(self._needs_of(task)) if task is not None else {}
        old = self._needs.pop(task_id, {})
        if new:
            self._needs[task_id] = new
        for need in old.keys() - new.keys() if old else ():
            del self._users[need][task_id]
            if not self._users[need]:
                del self._users[need]
                if self._queued(need) is None:
                    self._causes.pop(need, None)
        first = []
        for need in new:
            users = self._users.get(need)
            if users is None:
                self._users[need] = {task_id: None}
                first.append(need)
            else:
                users[task_id] = None
        return first

    def _needs_of(self, task: Task) -> Iterable[str]:
        """A parent is what its subtasks are; they wait for what it waits for."""
        if task.children:
            return children_of(task.id, task.children)
        return dependencies(task, self._queued)

    def _find_rings(self, ids: set[str]) -> set[str]:
        able = [i for i in ids if i in self._needs and i in self._users]
        few = len(able) <= _FEW and not self._on_rings
        if few and not any(stands_on_itself(i, self._needs, self._users) for i in able):
            return set()
        return on_rings(self._needs, self._users)

    def _spread(self, ids: set[str]) -> set[str]:
        before: dict[str, str | None] = {}
        stale = list(ids)
        for task_id in stale:  # which grows meanwhile
            cause = self._causes.pop(task_id, None)
            if cause is not None:
                before[task_id] = cause
                users = self._users.get(task_id, ())
                stale.extend(user for user in users if self._causes.get(user) == cause)
        waiting = deque(stale)
        while waiting:
            task_id = waiting.popleft()
            known, cause = self._causes.get(task_id), self._find_cause(task_id)
            if cause is not None and cause != known:
                before.setdefault(task_id, known)
                self._causes[task_id] = cause
                waiting.extend(self._users.get(task_id, ()))
        return {i for i, cause in before.items() if self._causes.get(i) != cause}

    def _find_cause(self, task_id: str) -> str | None:
        if self._queued(task_id) is None:
            return self._root_of(task_id) if task_id in self._users else None
        causes = {self._causes.get(need) for need in self._needs.get(task_id, ())}
        if task_id in self._on_rings:
            causes.add(task_id)
        return min((cause for cause in causes if cause is not None), key=sort_key, default=None)
