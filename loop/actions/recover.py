"""Runs that were found in running/: what is known of each, and what to do (core/recovery.py)."""

from __future__ import annotations

import os
import signal
from datetime import datetime

from loop.builder.processes import bearers, signal_if_same
from loop.builder.stream import offset_of, run_mark, started_line
from loop.core.recovery import Evidence, Found, decide
from loop.core.task import Task, encode
from loop.core.task_id import sort_key
from loop.store.files import read, replace
from loop.store.locks import FileLock, is_locked
from loop.store.paths import Project
from loop.store.scan import ids_in, read_result, read_task


def running_ids(project: Project) -> list[str]:
    """Ids of the files in running/, in their order."""
    return sorted(ids_in(project.running), key=sort_key)


def examine(project: Project, task_id: str, now: datetime) -> tuple[Found, Task | None]:
    """What to do with a running file; the task is None when the file can't be read."""
    task = read_task(project.task_file(project.running, task_id), task_id, now)
    if task is None or not task.runs:
        locked = is_locked(project.log(task_id))
        return (Found.WAIT if locked else Found.SET_ASIDE), None
    run = task.runs[-1]
    result = read_result(project, task_id)
    queued = read_task(project.task_file(project.queue, task_id), task_id, now)
    launched = is_in_log(project, task)
    evidence = Evidence(
        readable=True,
        run=task.run,
        completed_run=_run_in(result.task) if result else None,
        queued_run=queued.run if queued else None,
        log_locked=is_locked(project.log(task_id)) or (not launched and _lives(project, task)),
        launched=launched,
        exited=run.uuid.encode() in (read(project.run_file(task_id, "exit")) or b""),
    )
    return decide(evidence), task


def is_in_log(project: Project, task: Task) -> bool:
    """Whether the log knows of the task's last run, so that the lock on it tells of its end."""
    return offset_of(project.log(task.id), task.runs[-1].uuid) is not None


def _lives(project: Project, task: Task) -> bool:
    """Whether processes of a run live whose log somebody has removed, or that is just launched."""
    prepared = project.run_file(task.id, "launch").exists()
    return prepared and bool(bearers(task.runs[-1].uuid))


def _run_in(task: dict[str, object]) -> int:
    run = task.get("run", 1)
    return run if isinstance(run, int) else 1


def void(project: Project, task: Task, reason: str | None, error: str | None = None) -> bool:
    """Makes sure that a claimed run that was not launched never will be; False when it was.

    It ended by `reason`, or could not start because of `error`.
    """
    run = task.runs[-1]
    log = FileLock(project.log(task.id))
    if not log.try_acquire():
        return False
    try:
        if offset_of(project.log(task.id), run.uuid) is not None:
            return False
        line = run_mark(run.uuid) + b',"event":"void"}\n'
        with project.log(task.id).open("ab+") as file:
            if file.tell():
                file.seek(-1, os.SEEK_END)
                line = line if file.read(1) == b"\n" else b"\n" + line
            file.write(line)
        ending = {"run": run.uuid, "ended_by": reason, "exit": None, "error": error}
        replace(project.run_file(task.id, "exit"), encode(ending))
    finally:
        log.release()
    return True


def wake_shim(project: Project, task: Task) -> bool:
    """Has the shim of a run look at its cancel file now; False when it is not there."""
    line = started_line(project.log(task.id), task.runs[-1].uuid)
    shim = line.get("shim") if line else None
    if not isinstance(shim, dict):
        return False
    try:
        return signal_if_same(
            int(shim["pid"]), int(shim["start"]), str(shim["boot"]), signal.SIGTERM
        )
    except (KeyError, TypeError, ValueError):
        return False
