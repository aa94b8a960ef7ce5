"""Queueing a task."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from loop.core.event import Actor
from loop.core.order import before
from loop.core.task import TaskFields
from loop.errors import BadInput
from loop.store import queue
from loop.store.paths import Project
from loop.store.scan import QueueView


def submit(
    project: Project, fields: TaskFields, key: str | None, actor: Actor, now: datetime
) -> queue.Submitted:
    """Queues a task, durably, once.

    Raises:
        BadInput: a field is missing or wrong, or the key was used for something else.
    """
    given: dict[str, Any] = msgspec.to_builtins(fields)
    if not given.get("instructions"):
        raise BadInput("instructions", "is required: say what is to be done, one text or several")
    if key is not None:
        given["key"] = key
    return queue.submit(project, given, actor, now)


def position(view: QueueView, task_id: str) -> int | None:
    """The place of a task in the queue, 1 for the next; None when it is not waiting."""
    task = view.tasks.get(task_id)
    return None if task is None else 1 + before(task, view.tasks.values())
