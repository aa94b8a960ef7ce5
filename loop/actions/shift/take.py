"""Taking the next task for the session of a shift: the same choice as the worker's."""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime

import msgspec

from loop.actions.before import unseen, with_baseline, with_snapshot
from loop.actions.context import write_compact_context
from loop.actions.survey import Survey
from loop.builder.session import is_alive
from loop.core.config import Config
from loop.core.graph import Graph
from loop.core.task import Task
from loop.core.transition import new_run
from loop.errors import LoopError
from loop.store import queue
from loop.store.intake import clear_leftover, take_in
from loop.store.journal import transition
from loop.store.paths import Project
from loop.store.scan import QueueScan
from loop.store.shift import Shift, put_shift, read_shift

#: Looks at the queue for one task: each but the last has changed something.
_MOST_LOOKS = 1000


@dataclass(frozen=True, slots=True)
class Left:
    """Why no task was taken."""

    #: blocked tasks, each with the failed one at the root
    blocked: Mapping[str, str] = field(default_factory=dict)
    #: other waiting tasks, each with what it waits for
    waiting: Mapping[str, str] = field(default_factory=dict)

    @property
    def any(self) -> bool:
        """Whether anything waits at all."""
        return bool(self.blocked or self.waiting)


@dataclass(frozen=True, slots=True)
class Taken:
    """A task that was claimed, and the graph of those that wait."""

    task: Task
    graph: Graph


def take_next(
    project: Project,
    shift: Shift,
    config: Config,
    now: datetime,
    *,
    baseline: Mapping[str, str] | None = None,
) -> Taken | Left | None:
    """Claims the next task for a shift and keeps the files as they are before it.

    With `baseline`, an environment, the project's checks are run first where nobody knows how they
    go. None when another run goes on, the run slot is taken, or the binding is no longer in force.
    """
    scan = QueueScan(project, lambda: now)
    survey = Survey(project, scan)
    for _ in range(_MOST_LOOKS):
        view = scan.look()
        if view.dropped or view.misfits:
            take_in(project, view, now)
            view = scan.look()
        task, moved = survey.look(view, now)
        if moved:
            continue
        if task is None:
            return _left(survey.graph(view, now))
        run = new_run(
            task,
            str(uuid.uuid4()),
            now,
            session=shift.session,
            driver="session",
            no_snapshot=unseen(project),
        )
        claimed = queue.claim(
            project, task.id, run, now, alone=True, session=shift.session, alive=is_alive
        )
        if claimed is not None:
            graph = survey.graph(view, now)  # which hears of the claim by the timeline
            return Taken(begun(project, claimed, config, now, graph, baseline=baseline), graph)
        if not clear_leftover(project, task.id, now):
            return None
    return None


def keep_up(project: Project, now: datetime) -> None:
    """Has parents end, and blocks be told, where no task is taken any more.

    Trouble with the folders keeps no shift from ending: whoever looks next does the same.
    """
    scan = QueueScan(project, lambda: now)
    survey = Survey(project, scan)
    with suppress(LoopError, OSError):
        while survey.look(scan.look(), now)[1]:
            pass


def begun(
    project: Project,
    task: Task,
    config: Config,
    now: datetime,
    graph: Graph | None = None,
    *,
    baseline: Mapping[str, str] | None = None,
) -> Task:
    """The claimed task, once all is written that its run begins with; bears repetition.

    `graph` is that of the tasks that wait; None: they are looked at.
    """
    task = with_snapshot(project, task, config.checkpoint.max_file_mb)
    if baseline is not None:
        task = with_baseline(project, task, config, baseline)
    write_compact_context(project, task, config, now, graph)
    return task


def _left(graph: Graph) -> Left:
    blocked = graph.blocked()
    waiting = {
        task_id: ", ".join(graph.standing(task_id).waits_for) or "its turn"
        for task_id, task in graph.tasks.items()
        if task_id not in blocked and not task.children
    }
    return Left(blocked, waiting)


def hand_out(project: Project, task: Task) -> None:
    """Writes down that the session is given the task at hand to read, now."""
    with transition(project) as t:
        shift = read_shift(project)
        if shift is not None and shift.run == task.runs[-1].uuid and not shift.handed_out:
            put_shift(t, msgspec.structs.replace(shift, handed_out=True))


def environment() -> dict[str, str]:
    """The environment for checks that are run for a session."""
    return dict(os.environ)
