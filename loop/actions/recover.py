"""Runs that were found in running/: what is known of each, and what to do (core/recovery.py)."""

from __future__ import annotations

import json
import os
import signal
from datetime import datetime

from loop.builder import runlog
from loop.builder.processes import bearers, command_of, is_same, signal_if_same
from loop.builder.session import is_alive
from loop.builder.stream import ended_line, offset_of, read_run, started_line
from loop.builder.sweep import sweep_without_shim
from loop.core.recovery import Evidence, Found, decide
from loop.core.task import Task, encode
from loop.core.task_id import sort_key
from loop.store.files import read, replace
from loop.store.locks import FileLock, is_locked
from loop.store.paths import Project
from loop.store.run_files import cancel_reason
from loop.store.run_report import read_report
from loop.store.scan import ids_in, read_result, read_task
from loop.store.shift import living


def running_ids(project: Project) -> list[str]:
    """Ids of the files in running/, in their order."""
    return sorted(ids_in(project.running), key=sort_key)


def examine(project: Project, task_id: str, now: datetime) -> tuple[Found, Task | None]:
    """What to do with a running file; the task is None when the file can't be read."""
    task = read_task(project.task_file(project.running, task_id), task_id, now)
    if task is None or not task.runs:
        locked = is_locked(project.log(task_id))
        return (Found.WAIT if locked else Found.SET_ASIDE), None
    result = read_result(project, task_id)
    queued = read_task(project.task_file(project.queue, task_id), task_id, now)
    in_session = task.runs[-1].driver == "session"
    launched = offset_of(project.log(task_id), task.runs[-1].uuid) is not None
    evidence = Evidence(
        readable=True,
        run=task.run,
        completed_run=_run_in(result.task) if result else None,
        queued_run=queued.run if queued else None,
        log_locked=is_locked(project.log(task_id)),
        launched=launched,
        exited=_exited(project, task),
        in_session=in_session,
        held=in_session and _held(project, task),
    )
    found = decide(evidence)
    if in_session:
        return found, task
    if found in (Found.JUDGE, Found.LAUNCH) and not evidence.exited and at_work(project, task):
        found = Found.WAIT
    return found, task


def _held(project: Project, task: Task) -> bool:
    """Whether a living session has the run at hand, or one of its hooks is at work."""
    shift = living(project, is_alive)
    bound = shift is not None and shift.run == task.runs[-1].uuid
    return bound or is_locked(project.shift_lock)


def _exited(project: Project, task: Task) -> bool:
    data = read(project.run_file(task.id, "exit")) or b""
    return task.runs[-1].uuid.encode() in data


def at_work(project: Project, task: Task) -> bool:
    """Whether processes of a run are alive though nobody holds the lock on its log.

    So it is when the log was removed or replaced under them, and while a launcher that a dead
    worker started is not there yet.
    """
    if not _prepared_here(project, task):
        return False
    shim = _shim(project, task)
    if shim is not None:
        return is_same(*shim)
    run = task.runs[-1].uuid
    pids = bearers(run)
    launch_file = os.fspath(project.run_file(task.id, "launch"))
    if any(launch_file not in command_of(pid) for pid in pids):
        _mark(project, task, "found")  # not only a launcher: it must not be launched again
    return bool(pids)


def _shim(project: Project, task: Task) -> tuple[int, int, str] | None:
    """Pid, start and boot of a run's shim; None when the log does not say."""
    line = started_line(project.log(task.id), task.runs[-1].uuid)
    shim = line.get("shim") if line else None
    try:
        return (int(shim["pid"]), int(shim["start"]), str(shim["boot"])) if shim else None
    except (KeyError, TypeError, ValueError):
        return None


def _prepared_here(project: Project, task: Task) -> bool:
    """Whether a run was prepared in this very folder: a copied `.ai` tells of another's processes.

    What was not prepared has no processes.
    """
    try:
        launch = json.loads(read(project.run_file(task.id, "launch")) or b"{}")
    except ValueError:
        return False
    return isinstance(launch, dict) and launch.get("log") == os.fspath(project.log(task.id))


def stand_in_for_shim(project: Project, task: Task) -> None:
    """Writes the exit file of a run whose shim could not, once what it left has been ended.

    The last line of the log tells how it ended, if the shim got that far.

    Raises:
        LoopError: the disk does not take it.
    """
    if _exited(project, task):
        return
    run = task.runs[-1].uuid
    if task.runs[-1].driver == "session":
        from loop.actions.in_session import end_in_session

        end_in_session(project, task, None if read_report(project, task) else "interrupted")
        return
    line = ended_line(project.log(task.id), run)
    if line is None:
        swept = sweep_without_shim(run) if _prepared_here(project, task) else []
        has_result = read_run(project.log(task.id), run).ended is not None
        ended_by = None if has_result else cancel_reason(project, task.id)
        line = {"exit": None, "signal": None, "ended_by": ended_by, "swept": swept}
    fields = {key: value for key, value in line.items() if key not in ("type", "event")}
    replace(project.run_file(task.id, "exit"), encode({"run": run} | fields))


def _run_in(task: dict[str, object]) -> int:
    run = task.get("run", 1)
    return run if isinstance(run, int) else 1


def _mark(project: Project, task: Task, event: str) -> bool:
    """Appends a line of ours about a run to its log, unless there is one; whether it did."""
    log = FileLock(project.log(task.id))
    if not log.try_acquire():
        return False
    try:
        if offset_of(project.log(task.id), task.runs[-1].uuid) is not None:
            return False
        with project.log(task.id).open("a+b") as file:
            runlog.append(file.fileno(), task.runs[-1].uuid, {"event": event})
    finally:
        log.release()
    return True


def void(project: Project, task: Task, reason: str | None, error: str | None = None) -> bool:
    """Makes sure that a claimed run that was not launched never will be; False when it was.

    It ended by `reason`, or could not start because of `error`.
    """
    if not _mark(project, task, "void"):
        return False
    ending = {"run": task.runs[-1].uuid, "ended_by": reason, "exit": None, "error": error}
    replace(project.run_file(task.id, "exit"), encode(ending))
    return True


def wake_shim(project: Project, task: Task) -> bool:
    """Has the shim of a run look at its cancel file now; False when it is not there."""
    shim = _shim(project, task) if _prepared_here(project, task) else None
    return shim is not None and signal_if_same(*shim, signal.SIGTERM)
