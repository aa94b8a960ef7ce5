"""Why no task is ready."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from loop.core.task_id import sort_key
from loop.errors import LoopError
from loop.store.dependencies import graph_of
from loop.store.paths import Project
from loop.store.scan import QueueView, ids_in, locate

_NAMED = 5


def why_none(project: Project, view: QueueView, now: datetime) -> str:
    """Why none of the queued tasks is ready, in words that name the tasks."""
    running = sorted(ids_in(project.running), key=sort_key)
    words = [f"{_named(running)} {_is(running, 'runs', 'run')}"] if running else []
    graph = graph_of(project, view.tasks, now)
    blocked = graph.blocked()
    if blocked:
        ids = sorted(blocked, key=sort_key)
        causes = sorted(set(blocked.values()), key=sort_key)
        failed = [cause for cause in causes if _has_ended(project, cause, now)]
        what = "which failed" if failed == causes else "which failed or is not there"
        way = f"requeue_task {failed[0]} runs it again" if failed else (
            f"edit_task {ids[0]} changes what it depends on")  # fmt: skip
        words.append(
            f"{_named(ids)} {_is(ids, 'is', 'are')} blocked by {_named(causes)}, {what} ({way})"
        )
    needs = {n for task_id in view.tasks for n in graph.standing(task_id).waits_for}
    asking = sorted((n for n in needs if n not in view.tasks and _asks(project, n, now)),
                    key=sort_key)  # fmt: skip
    if asking:
        words.append(
            f"{_named(asking)} {_is(asking, 'asks', 'ask')} and others wait for that "
            f"(requeue_task {asking[0]} with your answer)"
        )
    if words:
        return "; ".join(words)
    if view.tasks:
        return f"{_named(sorted(view.tasks, key=sort_key))} end when a worker looks at them"
    ended = len(ids_in(project.completed))
    return f"nothing waits, all {ended} have ended" if ended else "the queue is empty"


def _asks(project: Project, task_id: str, now: datetime) -> bool:
    return locate(project, task_id, now).state == "needs_input"


def _has_ended(project: Project, task_id: str, now: datetime) -> bool:
    try:
        return locate(project, task_id, now).result is not None
    except LoopError:
        return False


def _named(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - _NAMED} more" if len(ids) > _NAMED else ""
    return ", ".join(ids[:_NAMED]) + more


def _is(ids: Sequence[str], one: str, many: str) -> str:
    return one if len(ids) == 1 else many
