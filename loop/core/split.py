"""Splitting a task by the Builder's report: the subtasks that it becomes.

Owns: what of a report's `subtasks` is a subtask, and what it takes over from its parent. Does not
own: whether a report counts, files.

A part with any words is a subtask, however badly it is filled in: nothing that is to be done is
dropped. What says nothing at all is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec

from loop.core.task import Task, task_from
from loop.core.task_id import children_of, is_id
from loop.errors import BadInput

_TITLE_CHARACTERS = 300


def usable_parts(subtasks: Sequence[Any]) -> list[dict[str, Any]]:
    """The entries of a report that say something, as fields of tasks."""
    return [fields for part in subtasks if (fields := _fields(part))]


def _fields(part: Any) -> dict[str, Any]:
    given = part if isinstance(part, dict) else {"instructions": part}
    title = " ".join(next(iter(_texts(given.get("title"))), "").split())
    instructions = _texts(given.get("instructions")) or [title]
    if not instructions[0]:
        return {}
    cut = len(title) > _TITLE_CHARACTERS
    return {
        "title": (title[: _TITLE_CHARACTERS - 1] + "…" if cut else title) or None,
        "instructions": instructions,
        "acceptance_criteria": _texts(given.get("acceptance_criteria")),
    }


def _texts(value: Any) -> list[str]:
    texts = value if isinstance(value, list) else [value]
    clean = [text.replace("\0", "") for text in texts if isinstance(text, str)]
    return [text for text in clean if text.strip()]


def parts_of(task: Task, subtasks: Sequence[Any], now: datetime) -> list[Task]:
    """The subtasks into which a report splits its task; empty when it does not.

    They take over its role, its limits and its priority. The commands that the whole must pass go
    to the last one, which then waits for the others.

    Raises:
        BadInput: one of them can't be a task, or ids go no deeper.
    """
    usable = usable_parts(subtasks)
    total = task.children + len(usable)
    ids = children_of(task.id, total)[task.children :]
    for task_id in ids[-1:]:
        if not is_id(task_id):
            raise BadInput("subtasks", f"task {task.id} is split too deeply; make it smaller")
    parts = [_part(task, fields, i, now) for fields, i in zip(usable, ids, strict=True)]
    if parts and task.acceptance:
        earlier = children_of(task.id, total)[:-1]
        parts[-1] = msgspec.structs.replace(
            parts[-1], acceptance=task.acceptance, depends_on=earlier
        )
    return parts


def _part(task: Task, fields: dict[str, Any], task_id: str, now: datetime) -> Task:
    return msgspec.structs.replace(
        task_from(fields, task_id, now),
        parent=task.id,
        author="builder",
        priority=task.priority,
        role=task.role,
        type=task.type,
        target=task.target,
        model=task.model,
        max_attempts=task.max_attempts,
        timeout_minutes=task.timeout_minutes,
        max_turns=task.max_turns,
        max_budget_usd=task.max_budget_usd,
    )


def split_task(task: Task, parts: Sequence[Task], notes: str | None) -> Task:
    """The task as the parent of its parts, to which it hands on what its run noted.

    The commands that it must pass are those of its last part now.
    """
    known = [text for text in (task.notes, notes) if text and text.strip()]
    return msgspec.structs.replace(
        task,
        children=task.children + len(parts),
        notes="\n\n".join(dict.fromkeys(known)) or None,
        acceptance=[],
    )
