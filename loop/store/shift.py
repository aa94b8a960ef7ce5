"""The binding of the queue to one interactive session, `.ai/shift.json`: the shift.

Owns: the file's form, and reading it. It is written only within transitions, so always whole and
under the state lock. Whether the session's process still lives is asked of whoever can tell
(`Alive`); the binding of a dead one is void, and so is a file that can't be read.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from loop.core.checks import convert
from loop.core.task import Task, decode_object
from loop.errors import BadInput, LoopError
from loop.store.files import read
from loop.store.journal import Transition
from loop.store.paths import Project
from loop.store.scan import locate

SessionId = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{3,99}\Z")]
_Natural = Annotated[int, Meta(ge=0)]


class Limits(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """When a shift ends by itself, besides for want of tasks. None sets no limit."""

    max_iterations: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None
    max_minutes: Annotated[float, Meta(gt=0, le=1_000_000)] | None = None
    #: US dollars, as far as the session's transcript tells
    max_usd: Annotated[float, Meta(gt=0)] | None = None


class Shift(Struct, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Which session works the queue, and how far it is."""

    session: SessionId
    #: of the session's process
    pid: Annotated[int, Meta(gt=1)]
    start: int
    boot: str
    since: datetime
    limits: Limits = Limits()
    #: tasks that it has taken
    iterations: _Natural = 0
    #: the task at hand and the uuid of its run; None between two tasks
    task: str | None = None
    run: str | None = None
    #: the session has been given that task to read, and may have begun with it
    handed_out: bool = False
    #: how often it was told to say how the task at hand ended
    told: _Natural = 0
    #: tasks in a row of which it never said how they ended
    unreported: _Natural = 0
    #: it is to end at the session's next stop
    stop: bool = False


#: Whether the process of a session still is the one that was bound.
Alive = Callable[[Shift], bool]


def taken_for_alive(_shift: Shift) -> bool:
    """What those assume who can't look at processes: nothing is taken from a session."""
    return True


def read_shift(project: Project) -> Shift | None:
    """The binding on record, whether its session still lives or not; None when there is none.

    Raises:
        BadInput: the file is there but is no binding.
    """
    try:
        data = read(project.shift)
    except OSError as error:
        raise BadInput("", f"can't be read: {error.strerror}") from None
    if data is None:
        return None
    shift = convert(decode_object(data), Shift)
    if shift.since.tzinfo is None:
        raise BadInput("since", "has no time zone")
    return shift


def living(project: Project, alive: Alive) -> Shift | None:
    """The binding in force; None when there is none, or it is void."""
    try:
        shift = read_shift(project)
    except LoopError:
        return None
    return shift if shift is not None and alive(shift) else None


def put_shift(t: Transition, shift: Shift) -> None:
    """Writes the binding, as a part of a transition; it holds for this boot only."""
    plain: dict[str, Any] = msgspec.to_builtins(shift)
    t.put(t.project.shift, plain, durable=False)


def took(shift: Shift, task: Task) -> Shift:
    """The binding once its session has taken a task."""
    return msgspec.structs.replace(
        shift,
        iterations=shift.iterations + 1,
        task=task.id,
        run=task.runs[-1].uuid,
        handed_out=False,
        told=0,
    )


def at_hand(project: Project, shift: Shift, now: datetime) -> Task | None:
    """The task whose run the session has; None between two tasks."""
    if shift.task is None:
        return None
    located = locate(project, shift.task, now)
    task = located.task
    if located.state != "running" or not task.runs or task.runs[-1].uuid != shift.run:
        return None
    return task
