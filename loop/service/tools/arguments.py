"""The arguments of the tools, as they are decoded: an unknown name is an error."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from loop.actions.plan_check import PlanTask
from loop.core.task import Name, TaskFields


class QueueTask(TaskFields, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Arguments of queue_task."""

    key: Name | None = None


class QueuePlan(Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Arguments of queue_plan."""

    tasks: list[PlanTask]
    dry_run: bool = False
    key: Name | None = None


class EditTask(TaskFields, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Arguments of edit_task."""

    task_id: str | int


class RequeueTask(TaskFields, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Arguments of requeue_task."""

    task_id: str | int
    guidance: str | None = None
    fresh: bool = False
    from_user: bool = False


class _Arguments(Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Arguments of a tool."""


class Check(_Arguments, forbid_unknown_fields=True):
    """Arguments of check_builder_status."""

    task_id: str | int | None = None
    wait_seconds: Annotated[float, Meta(ge=-1e9, le=1e9)] | None = None


class OneTask(_Arguments, forbid_unknown_fields=True):
    """A task."""

    task_id: str | int


class GetTask(OneTask, forbid_unknown_fields=True):
    """Arguments of get_task."""

    log_tail: int | None = None


class ListTasks(_Arguments, forbid_unknown_fields=True):
    """Arguments of list_tasks."""

    state: str | None = None
    limit: int | None = None
    role: Name | None = None
    parent: str | int | None = None


class Pause(_Arguments, forbid_unknown_fields=True):
    """Arguments of pause_queue."""

    reason: Name | None = None


class Nothing(_Arguments, forbid_unknown_fields=True):
    """No arguments."""


class Escalate(OneTask, forbid_unknown_fields=True):
    """Arguments of escalate_to_user."""

    question: str
    options: list[str] = []


class Review(OneTask, forbid_unknown_fields=True):
    """Arguments of review_changes."""

    path: str | None = None
    max_bytes: int | None = None


class UndoTask(OneTask, forbid_unknown_fields=True):
    """Arguments of undo_task."""

    force: bool = False


class Timeline(_Arguments, forbid_unknown_fields=True):
    """Arguments of show_timeline."""

    limit: int | None = None
    task_id: str | int | None = None
