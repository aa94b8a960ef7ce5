"""So that a task that is sent twice is queued once.

Small files in `.ai/state/sent/`: one a caller's key (for ever), one a content that is queued or
running. Each holds the id, and for a key the digest of what was sent under it. Plans have the same
two, which hold the ids of their tasks.
"""

from __future__ import annotations

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
    import hashlib  # not for hooks, which queue nothing

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


def plan_under_key(project: Project, key: str) -> tuple[dict[str, str], str] | None:
    """The ids by refs, and the digest, of the plan that was sent under a key; None without one."""
    return _plan_in(_plan_file(project, f"key {key}"))


def plan_alike(project: Project, content: str) -> dict[str, str] | None:
    """The ids by refs of the last plan of that digest; the caller checks their states."""
    found = _plan_in(_plan_file(project, f"content {content}"))
    return found[0] if found else None


def remember_plan(t: Transition, ids: dict[str, str], key: str | None, content: str) -> None:
    """Notes a plan, as a part of its transition."""
    names = [f"content {content}", *([f"key {key}"] if key is not None else [])]
    for name in names:
        t.put(_plan_file(t.project, name), {"ids": ids, "content": content})


def _plan_file(project: Project, name: str) -> Path:
    return project.state / "sent" / f"plan-{_hash(name.encode())}"


class _SentPlan(msgspec.Struct):
    ids: dict[str, str]
    content: str


def _plan_in(path: Path) -> tuple[dict[str, str], str] | None:
    data = read(path)
    try:
        sent = None if data is None else msgspec.json.decode(data, type=_SentPlan)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return None if sent is None else (sent.ids, sent.content)


def plan_digest(tasks: list[dict[str, Any]]) -> str:
    """A fingerprint of a plan; the same for two that ask for the same in the same order."""
    return _hash(msgspec.json.encode(tasks, order="sorted"))


def remember(t: Transition, task: Task, sent: str) -> None:
    """Notes a submission, as a part of its transition; `sent` is the digest of what was sent."""
    remember_content(t, task)
    if task.key is not None:
        t.put(_key_file(t.project, task.key), f"{task.id} {sent}".encode())


def remember_content(t: Transition, task: Task) -> None:
    """Notes what a task asks for that is queued again or was changed."""
    t.put(_content_file(t.project, task), task.id.encode(), durable=False)


def forget(t: Transition, task: Task) -> None:
    """Takes a task that is no longer waiting out of the contents; its key stays."""
    if sent_alike(t.project, task) == task.id:
        t.remove(_content_file(t.project, task))
