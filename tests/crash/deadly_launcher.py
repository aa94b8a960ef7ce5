"""The launcher, in which the shim kills itself just before its n-th call of the system.

LAUNCHER_DIES is `N FILE`: the first shim that comes to its n-th call makes FILE and dies; later
ones go on. All calls count that the shim makes to change something or to wait.
"""

from __future__ import annotations

import fcntl
import os
import runpy
import signal
from collections.abc import Callable
from typing import Any

_CALLS = (
    "setsid", "open", "dup2", "write", "fsync", "posix_spawn", "waitpid", "replace", "unlink",
    "close",
)  # fmt: skip

_deadly, _marker = os.environ["LAUNCHER_DIES"].split(" ", 1)
_launcher = os.getpid()
_left = int(_deadly)
_open, _close = os.open, os.close


def _counted(call: Callable[..., Any]) -> Callable[..., Any]:
    def counted(*arguments: Any, **more: Any) -> Any:
        global _left  # noqa: PLW0603 -- one count for the whole process
        if os.getpid() != _launcher:
            _left -= 1
            if _left == 0:
                _die_once()
        return call(*arguments, **more)

    return counted


def _die_once() -> None:
    try:
        _close(_open(_marker, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


for _name in _CALLS:
    setattr(os, _name, _counted(getattr(os, _name)))
fcntl.flock = _counted(fcntl.flock)
runpy.run_path(os.environ["LAUNCHER"], run_name="__main__")
