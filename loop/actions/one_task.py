"""One task in full, with its place among the others."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from loop.actions.session_seen import where_to_look
from loop.actions.standing import blocked_data, known_tasks, parent_data
from loop.core.result import result_dict
from loop.core.task import Task, task_dict
from loop.core.task_id import children_of, sort_key
from loop.store.archive import is_archived, log_of, results_of
from loop.store.dependencies import graph_of
from loop.store.files import read_end
from loop.store.paths import Project
from loop.store.scan import Located, QueueView, locate

_MOST_NAMED = 20


def task_in_full(
    project: Project, view: QueueView, task_id: str, log_tail_bytes: int, now: datetime
) -> dict[str, Any]:
    """Everything about one task; the end of its log when bytes are asked for.

    Raises:
        BadInput: it is not an id.
        NotFound: no such task.
    """
    located = locate(project, task_id, now)
    task = located.task
    data: dict[str, Any] = {"state": located.state}
    data |= _among_others(project, view, located, now)
    if located.result is not None:
        data["result"] = {k: v for k, v in result_dict(located.result).items() if k != "task"}
        if is_archived(project, task.id):
            folder = results_of(project, task.id)[0].parent.parent
            data["archived"] = folder.relative_to(project.root).as_posix()
    data["task"] = task_dict(task)
    if log_tail_bytes:
        tail = read_end(log_of(project, task.id), log_tail_bytes)
        data["log_tail"] = tail.decode(errors="replace")
        look = where_to_look(task)
        data |= {"log_note": look} if look else {}
    return data


def _among_others(
    project: Project, view: QueueView, located: Located, now: datetime
) -> dict[str, Any]:
    """What a task stands on, its parts, what stands on it; how it stands while it waits."""
    task = located.task
    graph = graph_of(project, view.tasks, now)
    data: dict[str, Any] = {}
    if task.id in view.tasks and located.state == "queued":
        standing = graph.standing(task.id)
        data["state"] = standing.state
        if standing.state == "blocked" and standing.cause is not None:
            told = blocked_data(project, task, standing.cause, now)
            data |= {k: told[k] for k in ("cause", "cause_title", "cause_reason") if k in told}
            data["next"] = told["next"]
        elif task.children:
            told = parent_data(task, standing, lambda i: graph.standing(i).state)
            data |= {k: told[k] for k in ("parts", "cause", "next") if k in told}
        elif standing.waits_for:
            data["waits_for"] = list(standing.waits_for[:_MOST_NAMED])
    parts = children_of(task.id, task.children)
    for name, ids in (("dependencies", task.depends_on), ("subtasks", parts)):
        if len(ids) > _MOST_NAMED:  # those that are done are the first to be left out
            first = sorted(ids, key=lambda i: graph.standing(i).state == "success")
            data[name] = known_tasks(project, first[:_MOST_NAMED], graph, now)
            data[f"{name}_more"] = len(ids) - _MOST_NAMED
        elif ids:
            data[name] = known_tasks(project, ids, graph, now)
    if users := _users(view, task):
        data["needed_by"] = users[:_MOST_NAMED]
    return data


def _users(view: QueueView, task: Task) -> list[str]:
    """Waiting tasks that depend on a task."""
    return sorted((t.id for t in view.tasks.values() if task.id in t.depends_on), key=sort_key)
