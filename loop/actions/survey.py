"""What the queue asks for: parents end, blocks are told, and one task is next.

Worker and session ask here. One that is kept learns of changes in two ways, and then costs what
they cost: the scan tells which files in queue/ are others, the timeline which tasks were moved by
anyone. The place in the timeline is taken before files are read, so nothing is missed between. A
move writes its event before it removes the old file: what the timeline names is looked up.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime

from loop.core.graph import Graph
from loop.core.task import Task
from loop.errors import LoopError
from loop.store import timeline
from loop.store.dependencies import graph_of, note_blocked
from loop.store.parents import roll_up
from loop.store.paths import Project
from loop.store.scan import QueueScan, QueueView, locate

#: Bytes of the timeline behind which a new graph begins: moves that were under way are in them.
_LATELY_BYTES = 1 << 14


class Survey:
    """Looks at the graph of a project's queue, again and again."""

    def __init__(self, project: Project, scan: QueueScan) -> None:
        """`scan` gives the views of the queue; nobody else may take its changes."""
        self._project = project
        self._scan = scan
        self._graph: Graph | None = None
        self._offset = 0
        self._told: Mapping[str, str] | None = None

    @property
    def is_due(self) -> bool:
        """Whether any task was moved since the last look."""
        return timeline.size_of(self._project.timeline) != self._offset

    def forget(self) -> None:
        """Has the next look begin from nothing: what is known does not agree with the files."""
        self._graph = None

    def look(self, view: QueueView, now: datetime) -> tuple[Task | None, bool]:
        """The task that is next; and whether a parent ended, so that one must look again."""
        graph = self.graph(view, now)
        ended = graph.ended_parents()
        if ended and roll_up(self._project, ended, now):
            return None, True
        blocked = graph.blocked()
        if blocked is not self._told:
            note_blocked(self._project, blocked, now)
            self._told = blocked
        return graph.next_ready(), False

    def graph(self, view: QueueView, now: datetime) -> Graph:
        """The graph as it is now."""
        graph, self._graph = self._graph, None  # so that an error in between leaves none behind
        changed = self._scan.take_changes()
        absent = set(view.dropped)  # nobody has taken them in yet
        if graph is not None:
            events, _ = timeline.read_from(self._project.timeline, self._offset)
            named = {str(event["task_id"]) for event in events if "task_id" in event}
            absent |= {task_id for task_id in named & view.tasks.keys() if self._left(task_id, now)}
            changed |= named
        queued = {i: t for i, t in view.tasks.items() if i not in absent} if absent else view.tasks
        self._offset = view.timeline_bytes
        if graph is None:
            self._offset = max(0, self._offset - _LATELY_BYTES)
            graph = graph_of(self._project, queued, now)
        else:
            graph.update(queued, changed)
        self._graph = graph
        return graph

    def _left(self, task_id: str, now: datetime) -> bool:
        """Whether a task has left the queue, though its file may still be there."""
        elsewhere = (self._project.completed, self._project.running)
        if not any(self._project.task_file(folder, task_id).exists() for folder in elsewhere):
            return False
        with suppress(LoopError):
            return locate(self._project, task_id, now).state != "queued"
        return False
