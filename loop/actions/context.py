"""Gathering the compact context of a task from the files of its project.

Owns: which tasks are worth knowing, and in which order. Does not own: how it is cut to its bound
(core/context.py). The prompt of a run and the file for the shift say the same.

Invariant: a log, an index or a task that can't be read is left out; no run fails for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from heapq import nlargest
from itertools import islice
from pathlib import Path
from typing import Any

from loop.actions.project_index import refresh_index
from loop.core.config import Config
from loop.core.context import Known, compact_context, context_text, encode_context
from loop.core.graph import Graph
from loop.core.role import leaves_notes
from loop.core.task import Task, task_dict, title_of
from loop.core.task_id import children_of, parent_of, sort_key
from loop.errors import LoopError, NotFound
from loop.store import progress
from loop.store.dependencies import graph_of
from loop.store.files import replace
from loop.store.paths import Project
from loop.store.project_index import index_lines
from loop.store.scan import Located, QueueScan, count_files, ids_in, locate

#: Tasks that stand for all of their kind: no bound has room for more.
_MOST_KNOWN = 100
_MOST_ENDED = 40
#: How far back designs are looked for.
_MOST_LOOKED_AT = 100
#: The least bytes that a row of a task takes.
_ROW_BYTES = 40
_RUN_FIELDS = ("number", "status", "reason", "said")


def prompt_context(
    project: Project, task: Task, config: Config, now: datetime, graph: Graph | None = None
) -> str:
    """What the prompt of a run says beside its task, within `context.max_bytes`.

    `graph` is that of the queued tasks; None: they are looked at.
    """
    context, more = _gathered(project, task, config, now, graph)
    return context_text(context, config.context.max_bytes, more=more)


def write_compact_context(
    project: Project, task: Task, config: Config, now: datetime, graph: Graph | None = None
) -> Path:
    """Writes `.ai/context.compact.json` about a task, within `context.max_bytes`; its path.

    For a driver whose Builder reads a file instead of a prompt: to be called once the task is
    claimed. It holds what the prompt of a headless run says, and the task itself. `graph` as above.

    Raises:
        LoopError: the file can't be written.
    """
    context, more = _gathered(project, task, config, now, graph)
    path = project.ai / "context.compact.json"
    data = encode_context(context, config.context.max_bytes, more=more)
    replace(path, data, durable=False)
    return path


def _gathered(
    project: Project, task: Task, config: Config, now: datetime, graph: Graph | None
) -> tuple[dict[str, Any], int]:
    """The context, whole, and how many other tasks there are that it does not hold."""
    with suppress(LoopError, OSError):
        refresh_index(project, now, task)
    if graph is None:
        graph = graph_of(project, QueueScan(project, lambda: now).look().tasks, now)
    around = _Around(project, graph, now)
    above = around.above(task)
    parent = around.known(above[:1])
    dependencies = around.known(around.below([task, *map(around.task, above)]))
    siblings = around.known(s for a in above[:1] for s in around.children(a) if s != task.id)
    counts = around.counts()
    around.named.add(task.id)
    others = list(islice(around.others(task), config.context.max_bytes // _ROW_BYTES))
    context = compact_context(
        _current(task),
        parent=next(iter(parent), None),
        dependencies=dependencies,
        siblings=siblings,
        others=others,
        counts=counts,
        relevant=_relevant(project, task, config),
        recent=progress.recent(project, config.context.recent_lines),
        index=index_lines(project),
    )
    return context, max(0, sum(counts.values()) - len(around.named) + around.missing)


def _current(task: Task) -> dict[str, Any]:
    """The task as plain data, with of its runs what another run can use."""
    plain = task_dict(task)
    runs = [run for run in plain.pop("runs", []) if run.get("status")]
    short = [{key: run[key] for key in _RUN_FIELDS if key in run} for run in runs]
    return plain | ({"runs": short} if short else {})


def _relevant(project: Project, task: Task, config: Config) -> list[str]:
    old = task.extra.get("imported_id")
    also = [old] if isinstance(old, str) else []
    return progress.relevant(project, task.id, config.context.relevant_lines, also)


@dataclass(slots=True)
class _Around:
    """The tasks around one, each named once."""

    project: Project
    graph: Graph
    now: datetime
    #: ids that were handed out
    named: set[str] = field(default_factory=set)
    #: how many of them are nowhere
    missing: int = 0

    def above(self, task: Task) -> list[str]:
        """The task's parent, the parent's parent and so on."""
        found: list[str] = []
        above = parent_of(task.id)
        while above is not None:
            found.append(above)
            above = parent_of(above)
        return found

    def children(self, task_id: str) -> list[str]:
        """The ids of a task's subtasks."""
        found = self._located(task_id)
        return children_of(task_id, found.task.children) if found else []

    def below(self, tasks: Sequence[Task | None]) -> Iterator[str]:
        """What tasks depend on; behind one that has subtasks these, which did its work.

        Then the designs that those rest on, however far: they hold for all that is built of them.
        """
        direct: list[str] = []
        for task in tasks:
            waiting = list(reversed(task.depends_on)) if task else []
            while waiting:
                direct.append(waiting.pop())
                yield direct[-1]
                waiting += reversed(self.children(direct[-1]))
        seen = set(direct)
        while direct and len(seen) < _MOST_LOOKED_AT:
            task = self.task(direct.pop(0))
            further = [n for n in task.depends_on if n not in seen] if task else []
            seen.update(further)
            direct += further
            yield from (n for n in further if self._is_design(n))

    def _is_design(self, task_id: str) -> bool:
        task = self.task(task_id)
        return task is not None and leaves_notes(task.role)

    def known(self, ids: Iterable[str]) -> list[Known]:
        """What is told of tasks that were not named yet; of a missing one, that it is missing."""
        found: list[Known] = []
        for task_id in ids:
            if len(found) >= _MOST_KNOWN:
                break
            if task_id not in self.named:
                located = self._located(task_id)
                self.named.add(task_id)
                self.missing += located is None
                found.append(self._told(located) if located else Known(task_id, "", "unknown"))
        return found

    def others(self, task: Task) -> Iterator[Known]:
        """All other tasks: what stands on this one, what runs, comes next, and ended last."""
        queued = self.graph.tasks
        first = [other.id for other in queued.values() if task.id in other.depends_on]
        first += ids_in(self.project.running)
        then = self.graph.in_order()
        ended = nlargest(_MOST_ENDED, ids_in(self.project.completed), key=sort_key)
        for ids in (first, then, ended):
            for task_id in ids:
                if task_id in self.named:
                    continue
                located = self._located(task_id)
                if located is not None:
                    self.named.add(task_id)
                    known = self._told(located)
                    yield Known(known.id, known.title, known.status)

    def counts(self) -> dict[str, int]:
        """How many tasks there are by where they stand."""
        running, ended = self.project.running, self.project.completed
        return {
            "queued": len(self.graph.tasks),
            "running": count_files(running),
            "settled": count_files(ended),
        }

    def task(self, task_id: str) -> Task | None:
        """The task of an id; None when there is none."""
        located = self._located(task_id)
        return located.task if located else None

    def _located(self, task_id: str) -> Located | None:
        queued = self.graph.tasks.get(task_id)
        if queued is not None:
            return Located("queued", queued)
        try:
            return locate(self.project, task_id, self.now)
        except (NotFound, OSError):
            return None

    def _told(self, located: Located) -> Known:
        """Of a task that has ended: the notes of its report, else its summary; then its own."""
        task, result = located.task, located.result
        state = located.state
        if state == "queued" and task.id in self.graph.tasks:
            state = self.graph.standing(task.id).state
        left = (result.notes or result.summary) if result else None
        notes = "\n".join(dict.fromkeys(filter(None, (left, task.notes)))) or None
        return Known(task.id, title_of(task), state, task.role, notes)
