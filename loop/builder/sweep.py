"""Ends what a Builder left running, in whatever group or session it hides.

Owns finding and ending the processes of one run once the Builder itself is gone: those that bear
the run in their environment, and every descendant of the shim. Does not touch the shim itself,
other users' processes, pid 1, or a launcher of the same run (which bears the run too, and is known
by having the very command line of the shim). On Windows nothing can be found, so nothing is swept.

A shim that was killed sweeps nothing; the worker then does, by the environment alone.

Invariants: bounded, even against processes that multiply; each signal goes to the process that was
found, not to a later one with its pid.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable

from loop.builder import processes
from loop.builder.child import Child

_AFTER_SIGTERM_S = 2.0
_AFTER_SIGKILL_S = 0.5
_LOOK_AGAIN_S = 0.02
_MOST_ROUNDS = 20
_MOST_NAMED = 20
_LONGEST_COMMAND = 200


def sweep(run: str, child: Child) -> list[dict[str, object]]:
    """End every process of the run; `{pid, command}` of those found, the first 20 of them.

    `child` reaps the ones that are the shim's own children.
    """
    boot = processes.boot_id()
    named: dict[int, str] = {}
    was_quiet = False
    for attempt in range(_MOST_ROUNDS):
        has_children = child.reap()
        left = _strays(run)
        if not left and (was_quiet or not has_children):
            break
        was_quiet = not left
        for pid, _ in left:
            named.setdefault(pid, processes.command_of(pid)[:_LONGEST_COMMAND])
        signum, patience_s = (
            (getattr(signal, "SIGKILL", signal.SIGTERM), _AFTER_SIGKILL_S)
            if attempt
            else (signal.SIGTERM, _AFTER_SIGTERM_S)
        )
        for pid, start in left:
            processes.signal_if_same(pid, start, boot, signum)
        _wait_until_gone(left, child, patience_s if left else _LOOK_AGAIN_S)
    return [{"pid": pid, "command": command} for pid, command in list(named.items())[:_MOST_NAMED]]


def sweep_without_shim(run: str) -> list[dict[str, object]]:
    """The same for a run whose shim is dead; what does not bear the run can't be found then."""
    boot = processes.boot_id()
    named: dict[int, str] = {}
    for attempt in range(_MOST_ROUNDS):
        left = _alive(processes.bearers(run))
        if not left:
            break
        for pid, _ in left:
            named.setdefault(pid, processes.command_of(pid)[:_LONGEST_COMMAND])
        signum = getattr(signal, "SIGKILL", signal.SIGTERM) if attempt else signal.SIGTERM
        for pid, start in left:
            processes.signal_if_same(pid, start, boot, signum)
        deadline = time.monotonic() + (_AFTER_SIGKILL_S if attempt else _AFTER_SIGTERM_S)
        while time.monotonic() < deadline and _alive(pid for pid, _ in left):
            time.sleep(_LOOK_AGAIN_S)
    return [{"pid": pid, "command": command} for pid, command in list(named.items())[:_MOST_NAMED]]


def _strays(run: str) -> list[tuple[int, int]]:
    """Pid and start of the processes to end that are alive now."""
    own = os.getpid()
    descendants = processes.descendants(own)
    ours = processes.command_of(own)
    bearers = [pid for pid in processes.bearers(run) if processes.command_of(pid) != ours]
    return _alive(dict.fromkeys([*descendants, *bearers]))


def _alive(pids: Iterable[int]) -> list[tuple[int, int]]:
    """Pid and start of those that are alive and this user's, this process left out."""
    own = os.getpid()
    found = []
    for pid in pids:
        start = processes.start_ticks(pid)
        if start is not None and pid not in {1, own} and processes.is_own_user(pid):
            found.append((pid, start))
    return found


def _wait_until_gone(strays: list[tuple[int, int]], child: Child, patience_s: float) -> None:
    """Wait until all of them are gone. They may be nobody's children here, hence the looking."""
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline:
        child.wait(_LOOK_AGAIN_S)
        if strays and all(processes.start_ticks(pid) != start for pid, start in strays):
            return
