"""The process of an interactive session: which it is, and whether it still lives."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from loop.builder import processes
from loop.store.shift import Shift

#: How Claude Code names its own process to what it starts.
_PID = "CLAUDE_PID"
_SESSION = "CLAUDE_CODE_SESSION_ID"
_SESSION_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{3,99}", re.ASCII)
_CLAUDE = re.compile(r"(?:^|[/\\ ])claude(?:\.exe|\.cmd)?(?: |$)", re.IGNORECASE)


class Process(NamedTuple):
    """A process that can't be mistaken for another."""

    pid: int
    start: int
    boot: str


def is_alive(shift: Shift) -> bool:
    """Whether the session of a shift still runs in the process that was bound."""
    return processes.is_same(shift.pid, shift.start, shift.boot)


def is_elsewhere(shift: Shift, env: Mapping[str, str]) -> bool:
    """Whether the session that calls us is in another process than the one that was bound.

    One session may be open in two. Where Claude Code names no process, it counts as the bound one.
    """
    named = env.get(_PID, "")
    return named.isdigit() and int(named) != shift.pid


def session_of(env: Mapping[str, str], named: str | None = None) -> str | None:
    """The session that calls us, or the one that is named; None when there is none to be found."""
    for candidate in (named, env.get(_SESSION)):
        if candidate and _SESSION_ID.fullmatch(candidate.strip()):
            return candidate.strip()
    return None


def session_process(env: Mapping[str, str], me: int) -> Process | None:
    """The process of the session that we were called in; None when there is none.

    `me` is our own pid: where Claude Code names no process, the nearest one above us that is it.
    """
    named = env.get(_PID, "")
    if named.isdigit() and int(named) > 1 and processes.is_own_user(int(named)):
        found = _known(int(named))
        if found is not None:
            return found
    parents = processes.parents()
    pid = parents.get(me)
    while pid is not None and pid > 1:
        if _CLAUDE.search(processes.command_of(pid).split(" -", 1)[0]):
            return _known(pid)
        pid = parents.get(pid)
    return None


def works_at(process: Process, root: Path) -> bool:
    """Whether a session was started in a project, or below it, so that its hooks look there.

    Where the system does not tell, it was.
    """
    import psutil  # takes 20 ms, which no hook should pay

    try:
        folder = psutil.Process(process.pid).cwd()
    except (psutil.Error, OSError):
        return True
    return Path(folder).resolve().is_relative_to(root.resolve())


def _known(pid: int) -> Process | None:
    start = processes.start_ticks(pid)
    return None if start is None else Process(pid, start, processes.boot_id())
