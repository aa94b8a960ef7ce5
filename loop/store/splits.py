"""A running task becomes the parent of the subtasks into which its run splits it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from loop.core import transition as rules
from loop.core.event import Event
from loop.core.task import Task, task_dict
from loop.store import progress
from loop.store.journal import transition
from loop.store.paths import Project
from loop.store.progress import Handoff
from loop.store.run_files import cancel_reason, remove_run, require_running


def split(
    project: Project,
    task: Task,
    parts: Sequence[Task],
    events: Sequence[Event],
    handoff: Handoff,
    max_lines: int,
    now: datetime,
) -> bool:
    """Puts a running task, which counts its parts already, back into the queue with them.

    `events` tell of its run; `handoff` goes into the handoff log, which holds `max_lines`.

    False, and nothing is done, when its cancel was asked meanwhile.
    """
    with transition(project) as t:
        require_running(t, task)
        if cancel_reason(project, task.id) == "cancelled":
            return False
        for part in parts:
            t.put(project.task_file(project.queue, part.id), task_dict(part))
        parent = rules.give_back(task, retry=False, note=None)
        t.put(project.task_file(project.queue, task.id), task_dict(parent))
        t.append(*events, *(rules.submit(part, "builder", now) for part in parts))
        progress.append(t, handoff, max_lines)
        remove_run(t, task.id)
    return True
