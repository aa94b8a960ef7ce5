"""So that a task that is sent twice is queued once.

Small files in `.ai/state/sent/`: one a caller's key (for ever), one a content that is queued or
running. Each holds the id, and for a key the digest of what was sent under it.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import msgspec

from loop.core.task import Task
from loop.store.files import read
from loop.store.journal import Transition
from loop.store.paths import Project


def digest(task: Task) -> str:
    """A fingerprint of what a task asks for; the same for two tasks that ask the same."""
    asked: dict[str, Any] = {
        "instructions": task.instructions,
        "title": task.title,
        "target": task.target,
        "type": task.type,
        "priority": task.priority,
        "depends_on": task.depends_on,
        "parent": task.parent,
        "role": task.role,
        "acceptance_criteria": task.acceptance_criteria,
        "acceptance": task.acceptance,
        "notes": task.notes,
        "limits": [task.timeout_minutes, task.max_turns, task.max_budget_usd, task.max_attempts],
        "model": task.model,
    }
    return _hash(msgspec.json.encode(asked, order="sorted"))


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]


def _key_file(project: Project, key: str) -> Path:
    return project.state / "sent" / f"key-{_hash(key.encode())}"


def _content_file(project: Project, task: Task) -> Path:
    return project.state / "sent" / f"content-{digest(task)}"


def sent_under_key(project: Project, key: str) -> tuple[str, str] | None:
    """Id and digest of what was sent under a key; None when nothing was."""
    data = read(_key_file(project, key))
    if data is None:
        return None
    task_id, _, content = data.decode("ascii", "replace").partition(" ")
    return task_id, content


def sent_alike(project: Project, task: Task) -> str | None:
    """The id of the last queued task that asks the same; the caller checks its state."""
    data = read(_content_file(project, task))
    return None if data is None else data.decode("ascii", "replace")


def remember(t: Transition, task: Task) -> None:
    """Notes a submission, as a part of its transition."""
    remember_content(t, task)
    if task.key is not None:
        t.put(_key_file(t.project, task.key), f"{task.id} {digest(task)}".encode())


def remember_content(t: Transition, task: Task) -> None:
    """Notes what a task asks for that is queued again or was changed."""
    t.put(_content_file(t.project, task), task.id.encode(), durable=False)


def forget(t: Transition, task: Task) -> None:
    """Takes a task that is no longer waiting out of the contents; its key stays."""
    if sent_alike(t.project, task) == task.id:
        t.remove(_content_file(t.project, task))
