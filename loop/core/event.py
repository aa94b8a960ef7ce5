"""The events of the timeline, one class each. One is one line of `.ai/logs/pipeline.jsonl`."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

import msgspec
from msgspec import Struct

Actor = Literal["architect", "builder", "user"]


class Event(Struct, kw_only=True, omit_defaults=True, tag_field="event"):
    """Something that happened. `actor` is who did it; the worker speaks for the builder."""

    ts: datetime
    actor: Actor
    task_id: str | None = None
    #: number of the run; None where no run is meant
    run: int | None = None


class TaskQueued(Event, tag="task_queued"):
    """A task entered the queue."""

    instructions: list[str]
    title: str | None = None
    key: str | None = None


class RunStarted(Event, tag="run_started"):
    """A run was claimed; it starts now."""

    uuid: str
    attempt: int = 1


class RunCompleted(Event, tag="run_completed"):
    """A run ended. With `retry` the worker runs the task again by itself."""

    status: str
    reason: str
    commit_hash: str | None
    cost_usd: float | None
    retry: bool = False
    #: where the cost is unknown: the task's own limit, if it has one
    most_usd: float | None = None


class TaskRequeued(Event, tag="task_requeued"):
    """A settled task runs again."""

    guidance: str | None = None
    from_user: bool = False


class TaskEdited(Event, tag="task_edited"):
    """Fields of a queued task were changed."""

    fields: list[str]


class TaskCancelled(Event, tag="task_cancelled"):
    """A task was cancelled; with a run going on, this is the request."""


class TaskBlocked(Event, tag="task_blocked"):
    """A task can't run because of `cause`, the id of a failed task."""

    cause: str


class EscalatedToUser(Event, tag="escalated_to_user"):
    """The Architect put a question to the person."""

    question: str
    options: list[str] = []


class QueuePaused(Event, tag="queue_paused"):
    """No task is claimed until the queue is resumed."""

    reason: str
    kind: str
    until: datetime | None = None
    #: how often the same was met before in this episode; only the first is news
    tries: int = 0
    #: of the run that met the limit; None when unknown or there was none
    cost_usd: float | None = None


class QueueResumed(Event, tag="queue_resumed"):
    """Tasks are claimed again."""

    reason: str | None = None


class QueueReset(Event, tag="queue_reset"):
    """What had ended was put out of sight; with `hard`, all was."""

    hard: bool
    #: how many results were put away, and how many tasks that waited were cancelled for it
    cleared: int
    cancelled: int
    #: tasks whose interrupted run was put back
    put_back: list[str] = []
    #: where it all is, relative to the project; None when nothing was put away
    folder: str | None = None


class RunRecovered(Event, tag="run_recovered"):
    """A run that an earlier worker had started was found and taken over."""

    found: str


class CheckpointSkipped(Event, tag="checkpoint_skipped"):
    """No commit was made of a run's changes."""

    reason: str


class Undone(Event, tag="undone"):
    """What a task had changed was taken back."""

    paths: list[str]


class NotificationFailed(Event, tag="notification_failed"):
    """A notification did not arrive."""

    service: str
    reason: str


def event_line(event: Event) -> bytes:
    """The event as one line of JSON, with a newline at its end."""
    plain: dict[str, Any] = msgspec.to_builtins(event)
    first = ("ts", "actor", "event", "task_id", "run")
    ordered = {k: plain[k] for k in first if k in plain}
    return msgspec.json.encode(ordered | plain) + b"\n"
