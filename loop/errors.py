"""The tree of expected errors.

    LoopError               one line for a person: what, where, what to do
    ├── BadInput            a field of a tool call, command, config or task file is wrong
    ├── NotFound            no task of that id, no project, no log
    ├── WrongState          the task is not in a state that allows this
    ├── Busy                a lock is held by somebody else for too long
    ├── NotReady            claude, git, an approval or money is missing
    └── NotSent             a notification did not arrive

Everything else that escapes is a defect, not an expected error.
"""

from __future__ import annotations

from datetime import datetime


class LoopError(Exception):
    """Raised when something expected went wrong; the message is one line for a person."""


class BadInput(LoopError):
    """Raised when a value from outside is not allowed. Nothing was changed.

    `field` is the name of the value, dotted where it is nested; empty when it is the whole input.
    """

    def __init__(self, field: str, problem: str) -> None:
        self.field = field
        self.problem = problem
        super().__init__(f"{field}: {problem}" if field else problem)


class NotFound(LoopError):
    """Raised when a task, a log or a project does not exist."""


class WrongState(LoopError):
    """Raised when a task's state does not allow what was asked. Nothing was changed."""


class Busy(LoopError):
    """Raised when a lock could not be had within its bound."""


class NotReady(LoopError):
    """Raised when a run can't start because something on this machine is missing.

    `kind` is a short word that the queue's pause carries (`no_claude`, `no_git`, `config`, ...);
    `until` is when it ends by itself, None when something must be mended.
    """

    def __init__(self, kind: str, message: str, until: datetime | None = None) -> None:
        self.kind = kind
        self.until = until
        super().__init__(message)


class NotSent(LoopError):
    """Raised when a notification did not arrive; the message holds the service's own words.

    `again_s` is after how many seconds it is worth another try; None when it is not, or when it may
    have arrived after all.
    """

    def __init__(self, message: str, again_s: float | None = None) -> None:
        self.again_s = again_s
        super().__init__(message)
