"""The files of a run in running/: the record, and the small ones that go with it."""

from __future__ import annotations

import json
from pathlib import Path

from loop.core.task import Task
from loop.errors import WrongState
from loop.store.files import read
from loop.store.journal import Transition
from loop.store.paths import Project
from loop.store.scan import read_task

#: Small files of a run, in the order in which they go with it.
SUFFIXES = ("prompt", "launch", "report", "exit", "guard", "cancel")


def small_files(project: Project, task_id: str) -> list[Path]:
    """The small files of a task's run."""
    return [project.run_file(task_id, suffix) for suffix in SUFFIXES]


def require_running(t: Transition, task: Task) -> None:
    """Checks that the run that is to be ended still is the one on record.

    Raises:
        WrongState: it is not.
    """
    path = t.project.task_file(t.project.running, task.id)
    record = read_task(path, task.id, task.created_at)
    if record is None or not record.runs or record.runs[-1].uuid != task.runs[-1].uuid:
        raise WrongState(f"run {task.run} of task {task.id} is no longer on record")


def remove_run(t: Transition, task_id: str) -> None:
    """Removes a run's files, the record last, as a part of a transition."""
    t.remove(*small_files(t.project, task_id), t.project.task_file(t.project.running, task_id))


def cancel_reason(project: Project, task_id: str) -> str | None:
    """What a run's cancel file asks for; None when there is none."""
    data = read(project.run_file(task_id, "cancel"))
    if data is None:
        return None
    try:
        asked = json.loads(data)
    except ValueError:
        return "cancelled"
    return str(asked.get("reason", "cancelled")) if isinstance(asked, dict) else "cancelled"
