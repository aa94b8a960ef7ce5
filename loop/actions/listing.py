"""Tasks as rows: what runs, what waits in its order, what ended last; by their derived states."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from loop.actions.held import time_text
from loop.core.graph import Graph, Standing
from loop.core.order import next_first
from loop.core.task import Task, title_of
from loop.core.task_id import children_of, parent_of, sort_key
from loop.errors import LoopError
from loop.store import timeline
from loop.store.dependencies import graph_of
from loop.store.intake import invalid_files
from loop.store.paths import Project
from loop.store.scan import Located, QueueView, ids_in, locate

STATES = ("running", "queued", "blocked", "success", "failure", "needs_input")
_MOST_NAMED = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which tasks a list holds; None holds all."""

    state: str | None = None
    role: str | None = None
    #: the id of a task whose subtasks are wanted
    parent: str | None = None

    def wants(self, task: Task, state: str) -> bool:
        """Whether a task is in the list."""
        return (
            self.state in (None, state)
            and self.role in (None, task.role)
            and self.parent in (None, parent_of(task.id))
        )


class Listing:
    """The tasks of a project at one moment."""

    def __init__(self, project: Project, view: QueueView, now: datetime) -> None:
        self._project = project
        self._view = view
        self._now = now
        self._graph = graph_of(project, view.tasks, now)
        self._settled = set(ids_in(project.completed))
        # What has a result has ended, though its record may lie in running/ for a moment.
        self.running = sorted(set(ids_in(project.running)) - self._settled, key=sort_key)

    @property
    def graph(self) -> Graph:
        """How the tasks stand."""
        return self._graph

    def counts(self) -> dict[str, int]:
        """How many tasks there are by state, those that wait by their derived one."""
        derived = Counter(map(self._counted_as, self._view.tasks.values()))
        always = {"running": len(self.running), "queued": 0, "blocked": 0}
        counts = {name: count + derived.pop(name, 0) for name, count in always.items()}
        return counts | dict(derived) | {"settled": len(self._settled)}

    def _counted_as(self, task: Task) -> str:
        state = self._graph.standing(task.id).state
        return "parents_under_way" if task.children and state == "running" else state

    def rows(self, wanted: Filter, limit: int) -> tuple[list[dict[str, Any]], bool]:
        """The first rows of those wanted; and whether there are more."""
        found: list[dict[str, Any]] = []
        for task_id in self._ids(wanted):
            row = self._wanted(task_id, wanted)
            if row is None:
                continue
            if len(found) == limit:
                return found, True
            found.append(row)
        return found, False

    def _ids(self, wanted: Filter) -> Iterator[str]:
        """Ids in the order of a list, without those that a filter rules out at a glance."""
        yield from self.running
        for task in next_first(self._view.tasks.values()):
            if wanted.wants(task, self._graph.standing(task.id).state):
                yield task.id
        if wanted.state in ("running", "queued", "blocked"):
            return
        for task_id in self.last_ended_first():
            if wanted.parent in (None, parent_of(task_id)):
                yield task_id

    def _wanted(self, task_id: str, wanted: Filter) -> dict[str, Any] | None:
        try:
            located = locate(self._project, task_id, self._now)
        except LoopError:
            return None
        row = self.row_of(located)
        return row if wanted.wants(located.task, row["state"]) else None

    def last_ended_first(self) -> Iterator[str]:
        """Settled tasks: those the timeline tells of by their ending, then the others by id."""
        told: dict[str, None] = {}
        for event in reversed(timeline.last(self._project.timeline, 200)):
            if event["event"] in ("run_completed", "task_cancelled") and not event.get("retry"):
                told[str(event.get("task_id"))] = None
        yield from (task_id for task_id in told if task_id in self._settled)
        yield from sorted(self._settled - told.keys(), key=sort_key, reverse=True)

    def row_of(self, located: Located) -> dict[str, Any]:
        """One task in a few words."""
        task = located.task
        row: dict[str, Any] = {
            "id": task.id,
            "state": located.state,
            "title": title_of(task),
            "priority": task.priority,
        }
        if task.role:
            row["role"] = task.role
        if task.depends_on:
            row["depends_on"] = task.depends_on[:_MOST_NAMED]
            more = len(task.depends_on) - _MOST_NAMED
            row |= {"depends_on_more": more} if more > 0 else {}
        if located.result is not None:
            row |= {
                "reason": located.result.reason,
                "cost_usd": located.result.cost_usd,
                "completed_at": time_text(located.result.completed_at),
            }
        if located.state == "queued":
            row |= self._standing_of(task)
        return row

    def _standing_of(self, task: Task) -> dict[str, Any]:
        standing = self._graph.standing(task.id)
        told: dict[str, Any] = {"state": standing.state}
        if standing.cause is not None:
            told["cause"] = standing.cause
        if standing.waits_for:
            told["waits_for"] = list(standing.waits_for[:_MOST_NAMED])
        if task.children:
            told["parts"] = parts_of(task, self._graph.standing)
        return told


def parts_of(task: Task, standing: Callable[[str], Standing]) -> dict[str, int]:
    """How many subtasks a task has by state."""
    return dict(Counter(standing(i).state for i in children_of(task.id, task.children)))


def listing(
    project: Project, view: QueueView, wanted: Filter, limit: int, now: datetime
) -> dict[str, Any]:
    """A bounded list of tasks with counts; says when there are more."""
    found = Listing(project, view, now)
    rows, more = found.rows(wanted, limit)
    data: dict[str, Any] = {"counts": found.counts(), "tasks": [_slim(row) for row in rows]}
    if more:
        data["more"] = "there are more: give a higher limit (at most 100), or a filter"
    return data | misfits(project, view)


def _slim(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row without what says nothing."""
    usual = {"priority": "normal"}
    return {k: v for k, v in row.items() if v is not None and usual.get(k) != v}


def misfits(project: Project, view: QueueView) -> dict[str, Any]:
    """Files that are no tasks, under `invalid`; empty when there are none."""
    bad = [{"name": m.name, "reason": m.reason} for m in view.misfits]
    bad += [{"name": name, "reason": reason} for name, reason in invalid_files(project)]
    return {"invalid": bad[:10]} if bad else {}
