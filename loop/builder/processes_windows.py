"""Processes as Windows shows them. See `processes` for what the names mean.

The start of a process is an absolute time in units of 100 ns, so it needs no boot to be unique.
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
from collections.abc import Callable

assert sys.platform == "win32"

_QUERY_LIMITED = 0x1000
_STILL_ACTIVE = 259


def boot_id() -> str:
    return "windows"


def start_ticks(pid: int) -> int | None:
    kernel = ctypes.WinDLL("kernel32", use_last_error=True)
    kernel.OpenProcess.restype = ctypes.c_void_p
    handle = ctypes.c_void_p(kernel.OpenProcess(_QUERY_LIMITED, 0, pid))
    if not handle:
        return None
    code = ctypes.c_ulong()
    times = [ctypes.c_ulonglong() for _ in range(4)]
    known = kernel.GetExitCodeProcess(handle, ctypes.byref(code)) and kernel.GetProcessTimes(
        handle, *(ctypes.byref(moment) for moment in times)
    )
    kernel.CloseHandle(handle)
    return times[0].value if known and code.value == _STILL_ACTIVE else None


def command_of(pid: int) -> str:
    return f"pid {pid}" if start_ticks(pid) is not None else ""


def is_own_user(pid: int) -> bool:
    return start_ticks(pid) is not None


def bearers(run: str) -> list[int]:
    """None can be seen: nobody's environment can be read."""
    del run
    return []


def parents() -> dict[int, int]:
    """None can be seen; `taskkill /T` walks the tree itself."""
    return {}


def send(pid: int, signum: int, is_same: Callable[[], bool]) -> bool:
    """End the process and its tree if `is_same` says yes: there are no signals."""
    del signum
    return is_same() and end_tree(pid)


def end_tree(pid: int) -> bool:
    """End the process and every process below it."""
    done = subprocess.run(
        ["taskkill", "/PID", str(pid), "/T", "/F"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    return done.returncode == 0
