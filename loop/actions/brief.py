"""A result as the Architect reads it first."""

from __future__ import annotations

from typing import Any

from loop.core.denial import line_of
from loop.core.mask import masked
from loop.core.result import Result
from loop.core.task import short_title

_BRIEF_CHARACTERS = 2000


def brief(result: Result) -> dict[str, Any]:
    """A result as the Architect reads it first: bounded, with what to do next."""
    data = {
        "task_id": result.task_id,
        "title": title_in(result.task),
        "status": result.status,
        "reason": result.reason,
        "summary": _cut(result.summary),
        "remarks": _cut(result.remarks) if result.remarks else None,
        "commit_hash": result.commit_hash,
        "files_changed": [f.path for f in result.files_changed[:20]],
        "more_files": max(0, len(result.files_changed) - 20) or None,
        "warnings": result.warnings[:10],
        "denials": [line_of(d) for d in result.permission_denials[:5]],
        "cost_usd": result.cost_usd,
        "turns": result.turns,
        "next": _next_step(result),
    }  # fmt: skip
    return {k: v for k, v in data.items() if v not in (None, [], "")}


def _next_step(result: Result) -> str:
    if result.status == "success":
        return "review it before you accept it; requeue_task with guidance corrects it"
    if result.status == "needs_input":
        return (
            "answer with requeue_task guidance if it is clear, conventional or reversible; "
            "else escalate_to_user"
        )
    if result.reason == "cancelled":
        return "requeue_task runs it again"
    return "requeue_task with guidance if you can resolve it; else escalate_to_user"


def _cut(text: str) -> str:
    if len(text) <= _BRIEF_CHARACTERS:
        return text
    text = masked(text)  # a cut secret would not be known for one
    return f"{text[:_BRIEF_CHARACTERS].rstrip()}… (cut; get_task has all)"


def title_in(task: dict[str, Any]) -> str:
    """The title of a task that is still plain data."""
    title = task.get("title")
    instructions = task.get("instructions")
    if not isinstance(title, str):
        first = instructions[0] if isinstance(instructions, list) and instructions else ""
        title = str(first)
    return short_title(title)
