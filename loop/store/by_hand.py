"""Ending a task without a run, because somebody says how it ended."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from loop.core import transition as rules
from loop.core.event import Actor
from loop.core.result import result_dict
from loop.errors import WrongState
from loop.store.families import reopen_parents
from loop.store.intake import require_taken_in
from loop.store.journal import transition
from loop.store.paths import Project
from loop.store.progress import append, handoff
from loop.store.scan import Located, locate
from loop.store.submissions import forget


def end_by_hand(
    project: Project,
    task_id: str,
    status: Literal["success", "failure"],
    words: str | None,
    actor: Actor,
    now: datetime,
    notes: str | None = None,
    *,
    max_lines: int,
) -> Located:
    """Ends a task without a run; one that has ended so already comes back as it is.

    The handoff log, of `max_lines` at most, is told.

    Raises:
        NotFound: no such task.
        WrongState: it runs, or ends with its subtasks.
    """
    require_taken_in(project, task_id, now)
    with transition(project) as t:
        located = locate(project, task_id, now)
        task = located.task
        rules.require("end", task.id, located.state)
        if task.children:
            raise WrongState(f"task {task.id} ends with its subtasks: end those")
        if located.state == status:
            return located
        result, event = rules.end_by_hand(task, located.result, status, words, actor, now, notes)
        t.put(project.task_file(project.completed, task.id), result_dict(result))
        t.append(event)
        append(t, handoff(task, result, None), max_lines)
        forget(t, task)
        if located.result is not None:
            reopen_parents(t, [task], actor, now)
        t.remove(project.task_file(project.queue, task.id))
    return Located(result.status, task, result)
