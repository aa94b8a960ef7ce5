"""All that `loop status` shows: who works, what runs, the graph of what waits, what ended last.

What waits is told as a tree: a subtask stands behind its parent, whatever its state is. Families
of tasks come in this order: those in which something runs or can run, those that wait, those in
which all is blocked; then by priority and id.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from itertools import islice
from typing import Any

from loop.actions.held import pause_data, time_text
from loop.actions.listing import Listing, misfits
from loop.actions.progress import ProgressReader
from loop.actions.ready import missing
from loop.actions.session_seen import shift_data
from loop.core.needs import ancestors
from loop.core.task import Task, priority_value
from loop.core.task_id import children_of, sort_key
from loop.errors import LoopError
from loop.store.notified import last_failure
from loop.store.paths import Project
from loop.store.project_files import read_owner, read_pause
from loop.store.scan import Located, QueueView, locate, read_task

#: How many rows of each kind the overview holds: a long queue must not hide what has ended.
_MOST = {"running": 10, "waiting": 20, "ended": 10}


def overview(
    project: Project,
    view: QueueView,
    env: Mapping[str, str],
    now: datetime,
    *,
    whole: bool = False,
) -> dict[str, Any]:
    """All that `loop status` shows; not `whole`, the first of each kind."""
    owner = read_owner(project)
    pause = read_pause(project)
    problem = missing(project, env)
    found = Listing(project, view, now)
    tree = _Tree(project, view, found, now)
    most = dict.fromkeys(_MOST, 1_000_000) if whole else _MOST
    rows = list(tree.rows(most))
    reader = ProgressReader(project)
    for row in rows:
        if row["state"] == "running" and "parts" not in row:
            task = read_task(project.task_file(project.running, row["id"]), row["id"], now)
            if task is not None and task.runs:
                row["progress"] = reader.progress(task, now)
    return {
        "project": project.name,
        "root": str(project.root),
        "worker": None
        if owner is None
        else {"pid": owner.pid, "driver": owner.driver, "since": time_text(owner.since)},
        "shift": shift_data(project, now),
        "paused": None if pause is None else pause_data(pause),
        "problem": None if problem is None else str(problem),
        "notification_failed": last_failure(project),
        "counts": found.counts(),
        "tasks": rows,
        **misfits(project, view),
    }


def graph_rows(project: Project, view: QueueView, now: datetime) -> list[dict[str, Any]]:
    """The rows of all tasks that have not ended, of their parts, and of what they depend on."""
    found = Listing(project, view, now)
    tree = _Tree(project, view, found, now)
    rows = list(tree.rows({"running": 1_000_000, "waiting": 1_000_000, "ended": 0}))
    there = {row["id"] for row in rows}
    outside = dict.fromkeys(n for row in rows for n in row.get("depends_on", []) if n not in there)
    for task_id in outside:
        with suppress(LoopError):
            rows.append(found.row_of(locate(project, task_id, now)))
    return rows


class _Tree:
    """The rows of a listing in the order of the tree."""

    def __init__(self, project: Project, view: QueueView, found: Listing, now: datetime) -> None:
        self._project = project
        self._queued = view.tasks
        self._found = found
        self._graph = found.graph
        self._now = now
        ready = self._graph.next_ready()
        self._next = ready.id if ready is not None else None
        self._told: set[str] = set()
        self._uncounted = self._find_uncounted()

    def rows(self, most: Mapping[str, int]) -> Iterator[dict[str, Any]]:
        """What runs by itself, the trees, then what has ended and stands in none."""
        alone = [i for i in self._found.running if i.partition(".")[0] not in self._queued]
        for task_id in alone[: most["running"]]:
            yield from self._row(task_id)
        trees = (row for top in self._tops() for row in self._family(top, most["waiting"]))
        for row in islice(trees, most["waiting"]):
            yield row | {"waits": True}
        # However long the trees are: what runs and what is next, with what it is a part of.
        for task_id in dict.fromkeys([*self._found.running, *filter(None, [self._next])]):
            for part in (*reversed(list(ancestors(task_id))), task_id):
                if part not in self._told:
                    for row in self._row(part):
                        yield row | {"waits": True}
        yield from self._ended(most["ended"])

    def _tops(self) -> list[str]:
        """The tasks of their own that wait."""
        urgency: dict[str, int] = {}
        running = {task_id.partition(".")[0] for task_id in self._found.running}
        for task_id in self._queued:
            top = task_id.partition(".")[0]
            standing = self._graph.standing(task_id)
            rank = 0 if standing.ready or top in running else 1
            rank = 2 if standing.state in ("blocked", "failure") else rank
            urgency[top] = min(rank, urgency.get(top, 2))

        def key(top: str) -> tuple[int, int, tuple[int, ...]]:
            task = self._queued.get(top)
            priority = priority_value(task.priority) if task else 0
            return urgency[top], priority, sort_key(top)

        return sorted(urgency, key=key)

    def _family(self, top: str, most: int) -> Iterator[dict[str, Any]]:
        """A task and its subtasks; of a parent that has ended some may wait still.

        Of more than half of `most` subtasks, those that have succeeded are left out.
        """
        stack = [top, *self._uncounted.get(top, ())][::-1]
        while stack:
            task_id = stack.pop()
            located = self._located(task_id) if task_id not in self._told else None
            if located is not None:
                yield self._row_of(located)
                parts = children_of(task_id, located.task.children)
                if len(parts) > most // 2:
                    parts = [part for part in parts if self._state(part) != "success"]
                stack.extend(reversed(parts))

    def _find_uncounted(self) -> dict[str, list[str]]:
        """By task of its own: waiting subtasks, just dropped, that their parent does not count."""
        found: dict[str, list[str]] = {}
        for task_id in sorted(self._queued, key=sort_key):
            above, _, number = task_id.rpartition(".")
            if above:
                parent = self._queued.get(above)
                located = self._located(above) if parent is None else None
                parent = located.task if located is not None else parent
                if parent is None or parent.children < int(number):
                    found.setdefault(task_id.partition(".")[0], []).append(task_id)
        return found

    def _located(self, task_id: str) -> Located | None:
        try:
            return locate(self._project, task_id, self._now)
        except LoopError:
            return None

    def _row(self, task_id: str) -> Iterator[dict[str, Any]]:
        located = self._located(task_id)
        if located is not None:
            yield self._row_of(located)

    def _row_of(self, located: Located) -> dict[str, Any]:
        task_id = located.task.id
        self._told.add(task_id)
        row = self._found.row_of(located)
        if task_id == self._next:
            row["next"] = True
        if located.result is not None:
            row["duration_s"] = located.result.duration_s
        return row | self._known_of_others(located, row)

    def _known_of_others(self, located: Located, row: dict[str, Any]) -> dict[str, Any]:
        """What the words about a row need to know of other tasks."""
        known: dict[str, Any] = {}
        if "cause" in row and row["state"] == "blocked":
            known["cause_reason"] = self._why(row["cause"])
        asking = [n for n in row.get("waits_for", []) if self._state(n) == "needs_input"]
        if asking:
            known["asking"] = asking
        if "parts" in row:
            known["cost_usd"] = self._cost_of_parts(located.task)
        return known

    def _why(self, task_id: str) -> str:
        try:
            result = locate(self._project, task_id, self._now).result
        except LoopError:
            return "not there"
        if result is None:
            return "waits for itself"
        return "cancelled" if result.reason == "cancelled" else "failed"

    def _state(self, task_id: str) -> str:
        return self._graph.standing(task_id).state

    def _cost_of_parts(self, task: Task) -> float | None:
        """US dollars of the parts that have ended; None when one of them is unknown."""
        costs: list[float | None] = []
        stack = children_of(task.id, task.children)
        while stack:
            try:
                located = locate(self._project, stack.pop(), self._now)
            except LoopError:
                continue
            if located.task.children:
                stack.extend(children_of(located.task.id, located.task.children))
            elif located.result is not None:
                costs.append(located.result.cost_usd)
        known = [cost for cost in costs if cost is not None]
        return sum(known) if len(known) == len(costs) else None

    def _ended(self, most: int) -> Iterator[dict[str, Any]]:
        count = 0
        for task_id in self._found.last_ended_first() if most else ():
            if task_id in self._told:
                continue
            for row in self._row(task_id):
                count += 1
                yield row
            if count >= most:
                return
