"""Processes as Linux shows them: /proc and pidfd. See `processes` for what the names mean."""
# pathlib is too slow to import on the way to the Builder's start:
# ruff: noqa: PTH116, PTH123, PTH208

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable

assert sys.platform == "linux"

#: Fields of /proc/PID/stat, counted from the one behind the command's last parenthesis.
_STATE, _PARENT, _START = 0, 1, 19


def boot_id() -> str:
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return file.read().strip()


def start_ticks(pid: int) -> int | None:
    fields = _stat(str(pid))
    return int(fields[_START]) if fields else None


def command_of(pid: int) -> str:
    command = _read(f"/proc/{pid}/cmdline").replace(b"\0", b" ").strip()
    return (command or _read(f"/proc/{pid}/comm")).decode(errors="replace")


def is_own_user(pid: int) -> bool:
    try:
        return os.stat(f"/proc/{pid}").st_uid == os.getuid()
    except OSError:
        return False


def environment_of(pid: int) -> dict[bytes, bytes]:
    """The environment that the process was started with; empty if it can't be seen."""
    entries = (entry.partition(b"=") for entry in _environment(pid))
    return {name: value for name, equals, value in entries if name and equals}


def bearers(run: str) -> list[int]:
    wanted = f"LOOP_RUN={run}".encode()
    others = (int(pid) for pid in _pids() if int(pid) != os.getpid())
    return [pid for pid in others if is_own_user(pid) and wanted in _environment(pid)]


def parents() -> dict[int, int]:
    """The parent of every process that is not a zombie."""
    found = {}
    for pid in _pids():
        fields = _stat(pid)
        if fields:
            found[int(pid)] = int(fields[_PARENT])
    return found


def send(pid: int, signum: int, is_same: Callable[[], bool]) -> bool:
    """Send the signal if `is_same` says yes; a pidfd holds the process fast in between."""
    try:
        pidfd = os.pidfd_open(pid)
    except ProcessLookupError:
        return False
    except OSError:  # an old kernel, or a sandbox that forbids it
        pidfd = None
    try:
        if not is_same():
            return False
        if pidfd is None:
            os.kill(pid, signum)
        else:
            signal.pidfd_send_signal(pidfd, signum)
    except (ProcessLookupError, PermissionError):
        return False
    finally:
        if pidfd is not None:
            os.close(pidfd)
    return True


def _pids() -> list[str]:
    return [name for name in os.listdir("/proc") if name.isdigit()]


def _environment(pid: int) -> list[bytes]:
    return _read(f"/proc/{pid}/environ").split(b"\0")


def _stat(pid: str) -> list[bytes] | None:
    """The fields of /proc/PID/stat from the state on; None for the dead and for zombies."""
    data = _read(f"/proc/{pid}/stat")
    fields = data[data.rfind(b")") + 1 :].split()
    return None if not fields or fields[_STATE] in {b"Z", b"X"} else fields


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""
