"""Changing what is queued or runs: edit, cancel, pause, resume."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from loop.actions.finish import finish
from loop.actions.ready import check_place
from loop.actions.recover import examine, void, wake_shim
from loop.core.checks import clean_text
from loop.core.event import Actor, TaskCancelled
from loop.core.recovery import Found
from loop.core.task import Task, TaskFields
from loop.core.task_id import parent_of, sort_key
from loop.errors import WrongState
from loop.store import by_hand, pauses, queue
from loop.store.dependencies import graph_of
from loop.store.locks import is_locked
from loop.store.paths import Project
from loop.store.project_files import Pause, in_workers_place, read_pause, usable_config
from loop.store.scan import Located, QueueScan, family, locate

#: Seconds that one waits for a cancelled run to end where no worker does.
_RUN_ENDS_WITHIN_S = 15.0
_LOOK_AGAIN_S = 0.05


def edit(project: Project, task_id: str, changes: TaskFields, actor: Actor, now: datetime) -> Task:
    """Changes fields of a queued task.

    Raises:
        NotFound: no such task.
        WrongState: it is not queued.
        BadInput: no field, or a wrong one.
    """
    return queue.edit(project, task_id, changes, actor, now)


def cancel(project: Project, task_id: str, actor: Actor, now: datetime) -> Located:
    """Cancels a task, wherever it stands: queued at once, running by ending its run.

    So with its subtasks: those that wait end with it, one that runs is asked to end. A settled task
    comes back as it is. A running one is still `running` when its worker ends it.

    Raises:
        NotFound: no such task.
        NotReady: it runs, and `.ai` was copied here from elsewhere.
    """
    while True:
        located = queue.cancel_queued(project, task_id, actor, now)
        for part in family(project, located.task, now):
            if part.state == "running":
                cancel(project, part.task.id, actor, now)
        if located.state != "running":
            return located
        check_place(project)  # in a copied folder the run is that of another project
        task = located.task
        event = TaskCancelled(ts=now, actor=actor, task_id=task.id, run=task.run)
        queue.request_cancel(project, task, "cancelled", event)
        wake_shim(project, task)
        _finish_without_owner(project, task.id, now)
        located = locate(project, task.id, now)
        if located.state != "queued":  # else its run ended meanwhile, and another would follow
            return located


@dataclass(frozen=True, slots=True)
class Removal:
    """What became of a removed task, and of others by it."""

    located: Located
    #: open subtasks that were removed with it
    subtasks: list[str]
    #: waiting tasks that are blocked now
    blocked: list[str]


def remove(project: Project, task_id: str, actor: Actor, now: datetime, *, force: bool) -> Removal:
    """Takes a waiting task out of the queue, its open subtasks with it; they end as cancelled.

    Raises:
        NotFound: no such task.
        WrongState: it does not wait, or others stand on it and `force` was not given.
    """
    located = locate(project, task_id, now)
    task = located.task
    if located.state == "running":
        raise WrongState(f"task {task.id} is running: cancel_task ends its run")
    if located.state != "queued":
        raise WrongState(f"task {task.id} has ended ({located.state}): nothing is to be removed")
    queued = QueueScan(project, lambda: now).look().tasks
    below = [part for part in family(project, task, now) if part.result is None]
    parts = [part.task.id for part in below]
    gone = {task.id, *parts}
    above = parent_of(task.id)
    users = sorted(
        (t.id for t in queued.values() if t.id not in gone and gone & {*t.depends_on}),
        key=sort_key,
    )
    if not force:
        _refuse_removal(task.id, users, above)
    running = [part.task.id for part in below if part.state == "running"]
    if running:
        raise WrongState(f"subtask {running[0]} is running: cancel_task ends its run")
    before = set(graph_of(project, queued, now).blocked())
    ended = queue.cancel_queued(project, task.id, actor, now)
    if ended.state == "running":
        raise WrongState(f"task {task.id} has just started: cancel_task ends its run")
    graph = graph_of(project, QueueScan(project, lambda: now).look().tasks, now)
    return Removal(ended, parts, sorted(graph.blocked().keys() - before, key=sort_key))


def _refuse_removal(task_id: str, users: list[str], above: str | None) -> None:
    if users:
        stand = "stands" if len(users) == 1 else "stand"
        more = f" and {len(users) - 5} more" if len(users) > 5 else ""
        raise WrongState(
            f"{', '.join(users[:5])}{more} {stand} on task {task_id} and would be blocked: change "
            "what they depend on by edit_task first, or give --force"
        )
    if above is not None:
        raise WrongState(
            f"task {task_id} is a part of {above}, which would fail without it: give --force, or "
            "end it by `loop edit ID --status done`"
        )


def end_by_hand(
    project: Project,
    task_id: str,
    status: Literal["success", "failure"],
    words: str | None,
    actor: Actor,
    now: datetime,
    notes: str | None = None,
) -> Located:
    """Ends a task without a run, since somebody says how it ended; `words` say how or why.

    `notes` are for tasks that build on this one. One that has ended otherwise is corrected; one
    that has ended so comes back as it is.

    Raises:
        NotFound: no such task.
        WrongState: it runs, or ends with its subtasks.
    """
    clean_text(words or "", "summary")
    clean_text(notes or "", "notes")
    lines = usable_config(project).progress.max_lines
    return by_hand.end_by_hand(project, task_id, status, words, actor, now, notes, max_lines=lines)


def _finish_without_owner(project: Project, task_id: str, now: datetime) -> None:
    """With no worker at all, who asks does the worker's part."""
    with in_workers_place(project) as mine:
        if not mine:
            return
        found, task = examine(project, task_id, now)
        deadline = time.monotonic() + _RUN_ENDS_WITHIN_S
        while found is Found.WAIT and time.monotonic() < deadline:
            time.sleep(_LOOK_AGAIN_S)
            if not is_locked(project.log(task_id)):
                found, task = examine(project, task_id, now)
        if task is not None and found is Found.LAUNCH and void(project, task, "cancelled"):
            found = Found.JUDGE
        if task is not None and found is Found.JUDGE:
            finish(project, task, usable_config(project), now)


def pause(project: Project, actor: Actor, reason: str | None, now: datetime) -> Pause:
    """Pauses the queue: what runs goes on, nothing new is claimed."""
    return pauses.pause(project, actor, reason or f"paused by the {actor}", now)


def resume(project: Project, actor: Actor, now: datetime) -> Pause | None:
    """Lifts the pause in force, at once; None when there was none."""
    current = read_pause(project)
    return current if pauses.resume(project, actor, now) else None
