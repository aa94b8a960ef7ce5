"""Watches one running Builder until it is gone, and ends it when it must.

Owns the clocks, the limits and the steps of ending. Does not own what the Builder leaves behind
(`sweep`) nor how its end is recorded (`shim`).

Invariants: the clock counts awake time, so that a sleeping machine or a stopped shim uses up no
limit; the first reason to end the Builder stands; this returns only when the Builder is gone.
Nothing here looks at the clock in vain: waits end with a signal, with the end of the Builder, at
the next deadline, or after a few seconds, since nothing tells of a line in the log.
"""
# pathlib is too slow to import on the way to the Builder's start:
# ruff: noqa: PTH123

from __future__ import annotations

import json
import os
import signal
import time

from loop.builder import runlog
from loop.builder.activity import Activity
from loop.builder.child import Child

_LONGEST_WAIT_S = 5.0
_SHORTEST_WAIT_S = 0.001
_AFTER_SIGTERM_S = 3.0
_PIECE_BYTES = 1024 * 1024
_LONGEST_REASON = 100


class Limits:
    """How long a run may take, in seconds of awake time."""

    def __init__(
        self, total_s: float, first_reply_s: float, silent_s: float, grace_s: float
    ) -> None:
        #: The whole run, until its result.
        self.total_s = total_s
        #: Until the API has answered once.
        self.first_reply_s = first_reply_s
        #: Without a new byte in the log while no tool is at work.
        self.silent_s = silent_s
        #: From the result to the exit, and from SIGINT to SIGTERM.
        self.grace_s = grace_s


class Supervision:
    """One Builder under watch."""

    def __init__(self, child: Child, log: int, limits: Limits, cancel: str) -> None:
        """Watch `child`, which appends to the open `log` from here on.

        `cancel` is the path of the file that asks for an end.
        """
        #: Seconds since the Builder's start, without those that the machine or the shim slept.
        self.awake_s = 0.0
        self._child = child
        self._log = log
        self._limits = limits
        self._cancel = cancel
        self._activity = Activity()
        self._read_up_to = os.fstat(log).st_size
        self._last_output_s = 0.0
        self._last_look_s = time.monotonic()
        self._tick_s = min(_LONGEST_WAIT_S, limits.silent_s, limits.grace_s)

    def watch(self) -> str | None:
        """Wait until the Builder is gone; why we ended it, or None if it ended by itself."""
        while not self._child.is_gone:
            reason = self._requested() or self._overdue()
            if reason is not None:
                self._end()
                return reason
            self._wait(self._next_deadline_s() - self.awake_s)
        return None

    def _wait(self, longest_s: float) -> None:
        """Wait for news, `longest_s` at most, and take in what happened."""
        asked_s = max(_SHORTEST_WAIT_S, min(self._tick_s, longest_s))
        self._child.wait(asked_s)
        now = time.monotonic()
        step_s = min(now - self._last_look_s, 2 * asked_s)
        self._last_look_s = now
        self.awake_s += step_s
        self._read(step_s)

    def _read(self, step_s: float) -> None:
        """Take in what is new in the log, written at most `step_s` ago."""
        try:
            status = os.fstat(self._log)
            self._read_up_to = min(self._read_up_to, status.st_size)  # somebody may have cut it
            if status.st_size == self._read_up_to:
                return
            while self._read_up_to < status.st_size:
                size = min(_PIECE_BYTES, status.st_size - self._read_up_to)
                data = runlog.read_at(self._log, size, self._read_up_to)
                if not data:
                    break
                self._read_up_to += len(data)
                self._activity.feed(data)
        except OSError:  # a failing disk is no reason to stop watching
            return
        age_s = min(max(0.0, time.time() - status.st_mtime), step_s)
        self._last_output_s = self.awake_s - age_s

    def _next_deadline_s(self) -> float:
        return min(deadline_s for deadline_s, _ in self._deadlines())

    def _overdue(self) -> str | None:
        for deadline_s, reason in self._deadlines():
            if self.awake_s >= deadline_s:
                return reason
        return None

    def _deadlines(self) -> list[tuple[float, str]]:
        """The limits that count at present, and what exceeding each is called."""
        if self._activity.has_result:  # its work is done, whatever the other clocks say
            return [(self._last_output_s + self._limits.grace_s, "lingering")]
        deadlines = [(self._limits.total_s, "timeout")]
        if not self._activity.replied:
            deadlines.append((self._limits.first_reply_s, "no_reply"))
        if not self._activity.open_tools:
            deadlines.append((self._last_output_s + self._limits.silent_s, "silent"))
        return deadlines

    def _requested(self) -> str | None:
        """The reason that the cancel file gives; else whether the shim itself was told to end."""
        if not os.path.lexists(self._cancel):
            return "interrupted" if self._child.terminated else None
        try:
            with open(self._cancel, "rb") as file:
                request = json.loads(file.read())
        except (OSError, ValueError, RecursionError):
            return "cancelled"
        reason = request.get("reason") if isinstance(request, dict) else None
        return reason[:_LONGEST_REASON] if isinstance(reason, str) and reason else "cancelled"

    def _end(self) -> None:
        """End the Builder, politely first, and wait until it is gone."""
        steps = ((signal.SIGINT, self._limits.grace_s), (signal.SIGTERM, _AFTER_SIGTERM_S))
        for signum, patience_s in steps:
            self._child.send(signum)
            deadline_s = self.awake_s + patience_s
            while not self._child.is_gone and self.awake_s < deadline_s:
                self._wait(deadline_s - self.awake_s)
        while not self._child.is_gone:
            self._child.send(getattr(signal, "SIGKILL", signal.SIGTERM))
            self._wait(_LONGEST_WAIT_S)
