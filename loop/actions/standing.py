"""How a task stands among the others, in words: who blocks it, how its subtasks go, what to do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

from loop.core.graph import Graph, Standing
from loop.core.task import Task, title_of
from loop.core.task_id import children_of, parent_of
from loop.errors import LoopError
from loop.store.paths import Project
from loop.store.scan import Located, locate, read_task

_MOST_NAMED = 20


def blocked_data(project: Project, task: Task, cause: str, now: datetime) -> dict[str, Any]:
    """A blocked task: which one failed, why, and what frees this one."""
    root = root_of(project, cause, now)
    holder = _holder(project, task, now)
    data = {"state": "blocked", "task_id": task.id, "cause": root.task.id if root else cause}
    if root is None or root.result is None:
        return data | {
            "cause_reason": "it is not there" if root is None else "it waits for itself",
            "next": f"edit_task {holder} without it in depends_on, or cancel_task {task.id}",
        }
    result = root.result
    reason = f"{result.status}: {result.reason}" if result.reason != result.status else "failure"
    free = f"requeue_task {root.task.id} with guidance: its success frees this by itself"
    return data | {
        "cause_title": title_of(root.task),
        "cause_reason": reason,
        "next": f"{free}; or edit_task {holder} depends_on, or cancel_task {task.id}; "
        "waiting changes nothing",
    }


def _holder(project: Project, task: Task, now: datetime) -> str:
    """The task by whose own dependencies one waits: itself, or one that it is a part of."""
    holder: Task | None = task
    while holder is not None and not holder.depends_on:
        above = parent_of(holder.id)
        holder = read_task(project.task_file(project.queue, above), above, now) if above else None
    return holder.id if holder is not None else task.id


def root_of(project: Project, cause: str, now: datetime) -> Located | None:
    """The task that failed: of one with subtasks, the one of them; None when it is not there."""
    try:
        found = locate(project, cause, now)
        while found.task.children:
            parts = children_of(found.task.id, found.task.children)
            failed = (locate(project, part, now) for part in parts)
            below = next((part for part in failed if part.state == "failure"), None)
            if below is None:
                break
            found = below
    except LoopError:
        return None
    return found


def parent_data(task: Task, standing: Standing, state_of: Callable[[str], str]) -> dict[str, Any]:
    """A task with subtasks: how they go, and what to do."""
    states = {part: state_of(part) for part in children_of(task.id, task.children)}
    data: dict[str, Any] = {
        "state": standing.state,
        "task_id": task.id,
        "parts": dict(Counter(states.values())),
    }
    for name in ("running", "needs_input", "failure", "blocked"):
        ids = [part for part, state in states.items() if state == name]
        if ids:
            data[f"parts_{name}"] = ids[:_MOST_NAMED]
    if standing.cause is not None:
        data["cause"] = standing.cause
    return data | {"next": _next_of_parent(standing, states)}


def _next_of_parent(standing: Standing, states: dict[str, str]) -> str:
    cause = standing.cause
    asking = [part for part, state in states.items() if state == "needs_input"]
    if standing.state in ("failure", "blocked") and cause is not None:
        return f"requeue_task {cause} with guidance: it failed, and this can't succeed without it"
    if asking:
        return (
            f"answer subtask {asking[0]} by requeue_task guidance if it is clear; "
            "else escalate_to_user"
        )
    return "it ends with its last subtask; call check_builder_status without task_id"


def known_tasks(
    project: Project, ids: Iterable[str], graph: Graph, now: datetime
) -> list[dict[str, Any]]:
    """Tasks by id, state and title; of many the first."""
    rows = []
    for task_id in list(ids)[:_MOST_NAMED]:
        row = {"id": task_id, "state": graph.standing(task_id).state}
        try:
            row["title"] = title_of(locate(project, task_id, now).task)
        except LoopError:
            row["state"] = "not there"
        rows.append(row)
    return rows
