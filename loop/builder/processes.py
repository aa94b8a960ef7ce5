"""Processes: who they are, which of them belong to a run, and signals that hit the right one.

A pid alone means nothing after a moment. An *identity* is the pid, the start of the process
(`start`, comparable on one machine only) and the boot it ran in (`boot`); a signal goes out only
if all three match. A process *bears* a run when its environment says `LOOP_RUN=UUID`.

Owns what is the same everywhere. What differs by platform stands in `processes_linux`,
`processes_mac` and `processes_windows`, one module each, with the same names in them.
Invariants: standard library only; a dead process and a zombie are both "gone"; pid 1 is never
signalled.
"""

from __future__ import annotations

import sys

if sys.platform == "win32":
    from loop.builder import processes_windows as _here
elif sys.platform == "darwin":
    from loop.builder import processes_mac as _here
else:
    from loop.builder import processes_linux as _here


def boot_id() -> str:
    """What tells this boot of the machine from any other."""
    return _here.boot_id()


def start_ticks(pid: int) -> int | None:
    """When the process started, in a unit of the platform's own; None if it is gone."""
    return _here.start_ticks(pid)


def command_of(pid: int) -> str:
    """The command line as one line of text; empty if the process is gone."""
    return " ".join(_here.command_of(pid).split())


def identity(pid: int) -> dict[str, object]:
    """`{pid, start, boot}`, to be kept and compared later; `start` is None if it is gone."""
    return {"pid": pid, "start": start_ticks(pid), "boot": boot_id()}


def is_same(pid: int, start: int | None, boot: str) -> bool:
    """Whether the process that had this identity is still there. Without a start: no."""
    return start is not None and start_ticks(pid) == start and boot_id() == boot


def is_own_user(pid: int) -> bool:
    """Whether the process belongs to the user that this one runs as."""
    return _here.is_own_user(pid)


def bearers(run: str) -> list[int]:
    """The pids of this user's processes that bear the run; this process is left out.

    On macOS the environment of Apple's own programs can't be seen, on Windows nobody's.
    """
    return _here.bearers(run)


def parents() -> dict[int, int]:
    """The parent of every process that is not a zombie; empty on Windows."""
    return _here.parents()


def descendants(pid: int) -> list[int]:
    """The pids of the children of `pid`, their children and so on, parents first; no zombies.

    Empty on Windows, where a tree is ended as a whole.
    """
    children: dict[int, list[int]] = {}
    for child, parent in parents().items():
        children.setdefault(parent, []).append(child)
    found: list[int] = []
    seen = {pid}
    waiting = [pid]
    while waiting:
        for child in children.get(waiting.pop(0), ()):
            if child not in seen:
                seen.add(child)
                found.append(child)
                waiting.append(child)
    return found


def signal_if_same(pid: int, start: int | None, boot: str, signum: int) -> bool:
    """Send a signal to the process of this identity; False if it is gone or not ours to signal.

    On Windows the whole tree below it is ended, whatever the signal.
    """
    if pid <= 1:
        return False
    return _here.send(pid, signum, lambda: is_same(pid, start, boot))


def signal_bearers(run: str, signum: int) -> None:
    """Signals every process that bears a run; for those that nobody else ends any more."""
    boot = boot_id()
    for pid in bearers(run):
        signal_if_same(pid, start_ticks(pid), boot, signum)
