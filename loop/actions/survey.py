"""What the queue asks for: parents end, blocks are told, and one task is next.

Worker and session ask here. One that is kept learns of changes in two ways, and then costs what
they cost: the scan tells which files in queue/ are others, the timeline which tasks were moved by
anyone. The place in the timeline is taken before files are read, so nothing is missed between.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from loop.core.graph import Graph
from loop.core.task import Task
from loop.store import timeline
from loop.store.dependencies import graph_of, note_blocked
from loop.store.parents import roll_up
from loop.store.paths import Project
from loop.store.scan import QueueScan, QueueView


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
        queued = dict(view.tasks) if view.dropped else view.tasks
        for task_id in view.dropped:
            del queued[task_id]  # nobody has taken it in yet
        if graph is None:
            self._offset = timeline.size_of(self._project.timeline)
            graph = graph_of(self._project, queued, now)
        else:
            events, self._offset = timeline.read_from(self._project.timeline, self._offset)
            changed.update(str(event["task_id"]) for event in events if "task_id" in event)
            graph.update(queued, changed)
        self._graph = graph
        return graph
