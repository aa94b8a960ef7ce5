"""Processes as macOS shows them: `ps` and `sysctl`. See `processes` for what the names mean."""

from __future__ import annotations

import calendar
import os
import subprocess
import sys
from collections.abc import Callable

assert sys.platform != "win32"

_MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
#: Months' names in English and times in UTC, whatever the person has set.
_ENVIRONMENT = {"LC_ALL": "C", "TZ": "UTC", "PATH": "/usr/bin:/bin:/usr/sbin:/sbin"}
_PATIENCE_S = 10.0


def boot_id() -> str:
    # kern.boottime moves when the clock is set; the session's UUID does not.
    return _output("sysctl", "-n", "kern.bootsessionuuid").strip()


def start_ticks(pid: int) -> int | None:
    return start_of(_output("ps", "-o", "stat=,lstart=", "-p", str(pid)))


def command_of(pid: int) -> str:
    return _output("ps", "-ww", "-o", "command=", "-p", str(pid))


def is_own_user(pid: int) -> bool:
    return _output("ps", "-o", "uid=", "-p", str(pid)).strip() == str(os.getuid())


def bearers(run: str) -> list[int]:
    table = _output("ps", "-axEww", "-o", "pid=,uid=,command=")
    return [pid for pid in bearers_in(table, run, os.getuid()) if pid != os.getpid()]


def parents() -> dict[int, int]:
    """The parent of every process that is not a zombie."""
    rows = (line.split() for line in _output("ps", "-ax", "-o", "pid=,ppid=,stat=").splitlines())
    return {int(pid): int(parent) for pid, parent, *state in rows if state and state[0][0] != "Z"}


def send(pid: int, signum: int, is_same: Callable[[], bool]) -> bool:
    """Send the signal if `is_same` says yes."""
    try:
        if not is_same():
            return False
        os.kill(pid, signum)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def start_of(row: str) -> int | None:
    """Seconds since 1970 of a row `STAT LSTART`, such as `S  Tue Sep  2 10:11:12 2025`."""
    try:
        state, _, month, day, clock, year = row.split()
        hours, minutes, seconds = (int(part) for part in clock.split(":"))
        date = int(year), _MONTHS.index(month) + 1, int(day)
    except ValueError:
        return None
    if state.startswith("Z"):
        return None
    return calendar.timegm((*date, hours, minutes, seconds))


def bearers_in(table: str, run: str, uid: int) -> list[int]:
    """The pids of the rows `PID UID COMMAND ENVIRONMENT` of this user that bear the run."""
    wanted = f"LOOP_RUN={run}"
    rows = (line.split() for line in table.splitlines() if line.strip())
    return [int(pid) for pid, owner, *rest in rows if owner == str(uid) and wanted in rest]


def _output(*command: str) -> str:
    """What the command prints; empty when it can't be asked."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=_ENVIRONMENT,
            timeout=_PATIENCE_S,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.decode(errors="replace")
