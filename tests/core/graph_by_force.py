"""The rules of the graph once more, by brute force: every closure computed in full, each time."""

from __future__ import annotations

from collections.abc import Mapping

from loop.core.task import Task, priority_value
from loop.core.task_id import children_of, sort_key

Known = tuple[str, bool, str | None]


class ByForce:
    """What `Graph` should say of these queued tasks and the states of the others."""

    def __init__(self, queued: Mapping[str, Task], states: Mapping[str, str]) -> None:
        self.queued, self.states = queued, states
        self.needs = {i: self._needs(t) for i, t in queued.items()}
        self.ids = {*queued, *states, *(n for needs in self.needs.values() for n in needs)}
        self.reach = {i: set(self.needs.get(i, ())) for i in self.ids}
        for _ in self.ids:
            for found in self.reach.values():
                found.update(*(self.reach[i] for i in found))
        rings = {i for i in self.ids if i in self.reach[i]}
        self.knotted = rings | {
            i
            for i in self.ids
            if self.reach[i] & rings and any(i in self.reach[ring] for ring in rings)
        }

    def _needs(self, task: Task) -> set[str]:
        if task.children:
            return set(children_of(task.id, task.children))
        found = set(task.depends_on)
        above = task.id.rpartition(".")[0]
        while above in self.queued:
            found.update(self.queued[above].depends_on)
            above = above.rpartition(".")[0]
        return found

    def is_done(self, task_id: str) -> bool:
        task = self.queued.get(task_id)
        if task is None:
            return self.states.get(task_id) == "success"
        return bool(task.children) and all(self.is_done(i) for i in self.needs[task_id])

    def cause(self, task_id: str) -> str | None:
        reached = {task_id, *self.reach[task_id]}
        bad = [i for i in reached if i not in self.queued and self.leaf(i) == "failure"]
        return min([*bad, *(reached & self.knotted)], key=sort_key, default=None)

    def leaf(self, task_id: str) -> str:
        if task_id not in self.queued:
            return self.states.get(task_id, "failure")
        return "blocked" if self.cause(task_id) else "queued"

    def state(self, task_id: str) -> str:
        task = self.queued.get(task_id)
        if task is None or not task.children:
            return self.leaf(task_id)
        parts = {self.state(i) for i in self.needs[task_id]}
        for state in ("failure", "blocked", "running", "needs_input"):
            if state in parts:
                return state
        return parts.pop() if len(parts) == 1 else "running"

    def is_ready(self, task_id: str) -> bool:
        task = self.queued.get(task_id)
        return (
            task is not None and not task.children and all(map(self.is_done, self.needs[task_id]))
        )

    def next_id(self) -> str | None:
        ready = [t for i, t in self.queued.items() if self.is_ready(i)]
        first = min(ready, key=lambda t: (priority_value(t.priority), sort_key(t.id)), default=None)
        return first.id if first else None

    def all_over(self, task_id: str) -> bool:
        task = self.queued.get(task_id)
        if task is None or not task.children:
            return self.leaf(task_id) in ("success", "failure", "blocked")
        return all(self.all_over(i) for i in self.needs[task_id])

    def ended(self) -> dict[str, str]:
        parents = [i for i, t in self.queued.items() if t.children]
        return {
            i: self.state(i)
            for i in parents
            if self.state(i) in ("success", "failure") and self.all_over(i)
        }

    def known(self) -> dict[str, Known]:
        return {i: (self.state(i), self.is_ready(i), self.cause(i)) for i in self.ids}
