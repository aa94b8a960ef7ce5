"""Runs the Builder once, with nobody home: the keeper of one run from its claim to its exit file.

Order, and what a death in between leaves behind:

| step | died after it |
| --- | --- |
| 1 the log is locked | nothing happened |
| 2 refused, if the run was launched or voided, or the record is not this run's | nothing happened |
| 3 our first line is in the log, synced | the run counts as launched, and never starts |
| 4 the Builder runs, its stdout the locked log | it runs on, unwatched; the lock tells |
| 5 it is gone: by itself, or ended for a limit or on request | what it left runs on |
| 6 what it left behind is swept | no exit file: how it ended is not known |
| 7 the exit file is there | no last line in the log |
| 8 our last line is in the log, the lock is free | done |

Owns that order and the two files. Limits are `supervision`'s, strays `sweep`'s, the lock and our
lines `runlog`'s. Signals: SIGTERM and SIGUSR1 mean "look at the cancel file now", SIGTERM without
such a file ends the run as interrupted; SIGINT and SIGHUP are ignored.

Invariants: standard library only; nothing starts without step 3 on the disk; a file that can't be
written stops nothing and is not tried again.
"""
# pathlib is too slow to import on the way to the Builder's start:

from __future__ import annotations

import json
import os
import signal
import sys
import time

from loop.builder import processes, runlog
from loop.builder.child import Child, adopt_orphans
from loop.builder.launch import Launch
from loop.builder.supervision import Supervision
from loop.builder.sweep import sweep

#: The launcher's exit code for each state that the shim can say.
EXIT_CODES = {"started": 0, "refused": 3, "failed": 4}

_LOCK_PATIENCE_S = 2.0
_LAST_STANDARD_FD = 2


def ignore_the_terminal() -> None:
    """Be deaf to Ctrl-C and to a closed terminal, from before the shim is forked."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform != "win32":
        signal.signal(signal.SIGHUP, signal.SIG_IGN)


def detach_and_keep(launch: Launch, tell: int) -> int:
    """Leave the launcher's session and descriptors behind, then `keep` the run.

    To be called in a forked child. Of the inherited descriptors only `tell` stays open.
    """
    if sys.platform == "win32":
        raise NotImplementedError
    os.setsid()
    try:
        err = os.open(launch.err, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    except OSError as error:
        return _say(tell, {"state": "failed", "error": str(error)})
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(err, 1)
    os.dup2(err, 2)
    for name in os.listdir("/dev/fd"):
        if int(name) > _LAST_STANDARD_FD and int(name) != tell:
            try:
                os.close(int(name))
            except OSError:  # the one that listed them
                continue
    return keep(launch, tell)


def keep(launch: Launch, tell: int) -> int:
    """Do the whole of a run, from the claim of its log to its end; the exit code of the shim.

    One line of JSON goes to `tell` as soon as it is known whether the Builder runs.
    """
    child = Child()
    try:
        log = runlog.claim(launch.log, launch.run, _LOCK_PATIENCE_S)
        _check_record(launch)
    except runlog.Refused as refusal:
        return _say(tell, {"state": "refused", "why": str(refusal)})
    except OSError as error:
        return _say(tell, {"state": "failed", "error": str(error)})
    try:
        _write_first_line(launch, log)
        _start(launch, log, child)
    except (OSError, ValueError) as error:
        text = f"could not start {launch.argv[0]}: {error}"
        _finish(launch, log, {"exit": None, "signal": None, "ended_by": None, "error": text})
        return _say(tell, {"state": "failed", "error": text})
    adopt_orphans()
    supervision = Supervision(child, log, launch.limits, launch.cancel)
    _say(tell, {"state": "started", "pid": child.pid, "shim": os.getpid()})
    ended_by = supervision.watch()
    try:
        swept = sweep(launch.run, child)
    except OSError as error:
        swept = []
        _complain(f"could not look for processes left behind: {error}")
    end: dict[str, object] = {"exit": child.exit_code, "signal": child.signal}
    end |= {"ended_by": ended_by, "error": None}
    _finish(launch, log, end, supervision.awake_s, swept)
    return 0


def _check_record(launch: Launch) -> None:
    """Refuse unless the task's running file is there and is about this run."""
    try:
        with open(launch.record, "rb") as file:
            is_ours = launch.run.encode() in file.read()
    except OSError as error:
        raise runlog.Refused(f"no record of the run: {error}") from error
    if not is_ours:
        raise runlog.Refused(f"{launch.record} is not the record of run {launch.run}")


def _write_first_line(launch: Launch, log: int) -> None:
    is_new = os.fstat(log).st_size == 0
    fields: dict[str, object] = {"event": "started", "task_id": launch.task_id}
    fields |= {"number": launch.number, "at": _now(), "shim": processes.identity(os.getpid())}
    runlog.append(log, launch.run, fields)
    if is_new:
        runlog.sync_folder(launch.log)


def _start(launch: Launch, log: int, child: Child) -> None:
    """Start the Builder between its prompt and the locked log."""
    if not os.path.isabs(launch.argv[0]):
        raise ValueError("not an absolute path")
    prompt = os.open(launch.prompt, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    try:
        child.start(launch.argv, prompt, runlog.for_builder(log, launch.log), 2)
    finally:
        os.close(prompt)


def _finish(
    launch: Launch,
    log: int,
    end: dict[str, object],
    awake_s: float = 0.0,
    swept: list[dict[str, object]] | None = None,
) -> None:
    """Record the end in the exit file, then in the log, then free the log."""
    end |= {"awake_s": round(awake_s, 3), "swept": swept or [], "at": _now()}
    try:
        _write_exit_file(launch, end)
    except OSError as error:
        _complain(f"could not write {launch.exit}: {error}")
    try:
        runlog.append(log, launch.run, {"event": "ended", **end})
    except OSError as error:
        _complain(f"could not write {launch.log}: {error}")
    runlog.unlock(log)


def _write_exit_file(launch: Launch, end: dict[str, object]) -> None:
    folder, name = os.path.split(launch.exit)
    temporary = os.path.join(folder, f".{name}.{os.getpid()}.tmp")
    try:
        with open(temporary, "wb") as file:
            file.write(json.dumps({"run": launch.run, **end}).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, launch.exit)
    except OSError:
        if os.path.lexists(temporary):
            os.unlink(temporary)
        raise
    runlog.sync_folder(launch.exit)


def _say(tell: int, answer: dict[str, object]) -> int:
    """Tell the launcher, if it still listens; the exit code that belongs to the answer."""
    code = EXIT_CODES[str(answer["state"])]
    try:
        os.write(tell, json.dumps(answer).encode() + b"\n")
    except OSError:
        return code
    finally:
        os.close(tell)
    return code


def _complain(text: str) -> None:
    """Leave a line in the .err file, if the disk takes it."""
    try:
        os.write(2, f"shim: {text}\n".encode(errors="surrogateescape"))
    except OSError:
        return


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
