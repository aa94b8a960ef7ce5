"""A forked child that is killed with SIGKILL just before its n-th change of a file."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

_WRITING = os.O_WRONLY | os.O_RDWR
_CHANGES = ("os.rename", "os.remove", "os.link", "os.truncate", "shutil.rmtree")


def killed_before_change(number: int, below: Path, action: Callable[[], object]) -> bool:
    """Runs `action` in a child; True when it was killed, False when it came to its end first.

    `number` counts, from 1 on, what changes files below a folder: opening to write, renaming,
    linking, removing.
    """
    child = os.fork()
    if child == 0:
        _be_killed(number, os.fspath(below))
        try:
            action()
        finally:
            os._exit(0 if sys.exc_info()[0] is None else 1)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return True
    assert os.waitstatus_to_exitcode(status) == 0, "the child failed by itself"
    return False


def _be_killed(number: int, below: str) -> None:
    left = [number]

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if event == "open":
            changes = isinstance(arguments[2], int) and bool(arguments[2] & _WRITING)
        else:
            changes = event in _CHANGES
        if changes and str(arguments[0]).startswith(below):
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)
