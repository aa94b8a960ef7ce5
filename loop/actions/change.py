"""Changing what is queued or runs: edit, cancel, pause, resume."""

from __future__ import annotations

import time
from datetime import datetime

from loop.actions.finish import finish
from loop.actions.ready import check_place
from loop.actions.recover import examine, void, wake_shim
from loop.core.config import Config
from loop.core.event import Actor, TaskCancelled
from loop.core.recovery import Found
from loop.core.task import Task, TaskFields
from loop.errors import NotReady
from loop.store import pauses, queue
from loop.store.locks import FileLock, is_locked
from loop.store.paths import Project
from loop.store.project_files import Pause, load_config, read_pause
from loop.store.scan import Located, locate

#: Seconds that one waits for a cancelled run to end where no worker does.
_RUN_ENDS_WITHIN_S = 15.0
_LOOK_AGAIN_S = 0.05


def edit(project: Project, task_id: str, changes: TaskFields, actor: Actor, now: datetime) -> Task:
    """Changes fields of a queued task.

    Raises:
        NotFound: no such task.
        WrongState: it is not queued.
        BadInput: no field, or a wrong one.
    """
    return queue.edit(project, task_id, changes, actor, now)


def cancel(project: Project, task_id: str, actor: Actor, now: datetime) -> Located:
    """Cancels a task, wherever it stands: queued at once, running by ending its run.

    A settled task comes back as it is. A running one is still `running` when its worker ends it.

    Raises:
        NotFound: no such task.
        NotReady: it runs, and `.ai` was copied here from elsewhere.
    """
    while True:
        located = queue.cancel_queued(project, task_id, actor, now)
        if located.state != "running":
            return located
        check_place(project)  # in a copied folder the run is that of another project
        task = located.task
        event = TaskCancelled(ts=now, actor=actor, task_id=task.id, run=task.run)
        queue.request_cancel(project, task, "cancelled", event)
        wake_shim(project, task)
        _finish_without_owner(project, task.id, now)
        located = locate(project, task.id, now)
        if located.state != "queued":  # else its run ended meanwhile, and another would follow
            return located


def _finish_without_owner(project: Project, task_id: str, now: datetime) -> None:
    """With no worker at all, who asks does the worker's part."""
    lock = FileLock(project.worker_lock)
    if not lock.try_acquire():
        return
    try:
        found, task = examine(project, task_id, now)
        deadline = time.monotonic() + _RUN_ENDS_WITHIN_S
        while found is Found.WAIT and time.monotonic() < deadline:
            time.sleep(_LOOK_AGAIN_S)
            if not is_locked(project.log(task_id)):
                found, task = examine(project, task_id, now)
        if task is not None and found is Found.LAUNCH and void(project, task, "cancelled"):
            found = Found.JUDGE
        if task is not None and found is Found.JUDGE:
            finish(project, task, _config(project), now)
    finally:
        lock.release()


def _config(project: Project) -> Config:
    try:
        return load_config(project)
    except NotReady:
        return Config()


def pause(project: Project, actor: Actor, reason: str | None, now: datetime) -> Pause:
    """Pauses the queue: what runs goes on, nothing new is claimed."""
    return pauses.pause(project, actor, reason or f"paused by the {actor}", now)


def resume(project: Project, actor: Actor, now: datetime) -> Pause | None:
    """Lifts the pause in force, at once; None when there was none."""
    current = read_pause(project)
    return current if pauses.resume(project, actor, now) else None
