"""Every transition of a task, on disk: read under the lock, decide, put, append, remove.

What a transition means stands in core/transition.py; this file says which files it touches. All
take the state lock themselves and re-read under it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from loop.core import transition as rules
from loop.core.event import Actor, Event
from loop.core.result import Result, result_dict, with_task
from loop.core.task import Run, Task, TaskFields, task_dict, task_from
from loop.errors import BadInput, LoopError, NotFound, WrongState
from loop.store import progress
from loop.store.archive import logs_of
from loop.store.dependencies import is_ready, refuse_rings, require_dependencies
from loop.store.families import NOT_RUN_ITSELF, adopt, failed_below, reopen_parents
from loop.store.ids import next_id
from loop.store.intake import note_dropped, require_all_taken_in, require_taken_in
from loop.store.journal import Transition, transition
from loop.store.locks import is_locked
from loop.store.paths import Project
from loop.store.progress import Handoff
from loop.store.project_files import Pause, read_pause
from loop.store.run_files import cancel_reason, remove_run, require_running
from loop.store.scan import Located, family, ids_in, locate
from loop.store.shift import Alive, living, put_shift, taken_for_alive, took
from loop.store.submissions import (
    digest,
    forget,
    remember,
    remember_content,
    sent_alike,
    sent_under_key,
)


@dataclass(frozen=True, slots=True)
class Submitted:
    """What became of a submission; `note` is None when a new task was queued."""

    task: Task
    note: str | None = None


def submit(project: Project, fields: dict[str, Any], actor: Actor, now: datetime) -> Submitted:
    """Queues a task, durably, unless the same was sent before.

    Raises:
        BadInput: a field is wrong, or the key was used for something else.
    """
    draft = task_from({**fields, "author": actor}, "1", now)
    sent = digest(draft)
    require_all_taken_in(project, [*draft.depends_on, *filter(None, [draft.parent])], now)
    with transition(project) as t:
        if draft.parent is not None and fields.get("priority") is None:
            parent = _if_there(project, draft.parent, now)
            draft.priority = parent.task.priority if parent else draft.priority
        known = _known(project, draft, sent, now)
        if known is not None:
            return known
        if draft.parent is not None:
            task = adopt(t, draft, now)
        else:
            require_dependencies(project, draft)
            task = msgspec.structs.replace(draft, id=next_id(project))
        t.put(project.task_file(project.queue, task.id), task_dict(task))
        t.append(rules.submit(task, actor, now))
        remember(t, task, sent)
    return Submitted(task)


def _known(project: Project, draft: Task, sent_now: str, now: datetime) -> Submitted | None:
    if draft.key is not None and (sent := sent_under_key(project, draft.key)):
        task_id, content = sent
        elder = _if_there(project, task_id, now)
        if elder is None:
            return None
        if content != sent_now:
            raise BadInput("key", f"{draft.key!r} was used for task {task_id}; take another key")
        return Submitted(elder.task, "this key was sent before")
    alike = sent_alike(project, draft)
    if alike is None or draft.key is not None:
        return None
    located = _if_there(project, alike, now)
    if located is None or located.state not in ("queued", "running"):
        return None
    return Submitted(located.task, f"the same task is {located.state} already")


def _if_there(project: Project, task_id: str, now: datetime) -> Located | None:
    """The task of a note in state/; None when its file is gone or the note is damaged."""
    try:
        return locate(project, task_id, now)
    except LoopError:
        return None


def edit(project: Project, task_id: str, changes: TaskFields, actor: Actor, now: datetime) -> Task:
    """Changes fields of a queued task.

    Raises:
        NotFound: no such task.
        WrongState: it is not queued.
        BadInput: a field is wrong.
    """
    require_taken_in(project, task_id, now)
    require_all_taken_in(project, changes.depends_on or [], now)
    with transition(project) as t:
        located = locate(project, task_id, now)
        rules.require("edit", located.task.id, located.state)
        changed, event = rules.edit(located.task, changes, actor, now)
        _check_edited(project, located.task, changed, now)
        if digest(changed) != digest(located.task):
            forget(t, located.task)
            remember_content(t, changed)
        t.put(project.task_file(project.queue, changed.id), task_dict(changed))
        t.append(event)
        _hand_down_priority(t, located.task, changed, actor, now)
    return changed


def _check_edited(project: Project, old: Task, new: Task, now: datetime) -> None:
    if new.acceptance and new.children:
        raise BadInput("acceptance", f"task {new.id} {NOT_RUN_ITSELF}")
    added = [need for need in new.depends_on if need not in old.depends_on]
    if added:
        require_dependencies(project, new)
        # What it stood on before can't be a part of a new ring.
        refuse_rings(project, [msgspec.structs.replace(new, depends_on=added)], now)


def _hand_down_priority(t: Transition, old: Task, new: Task, actor: Actor, now: datetime) -> None:
    """The waiting subtasks that have the priority of their parent keep having it."""
    if old.priority == new.priority:
        return
    for part in family(t.project, old, now):
        if part.state == "queued" and part.task.priority == old.priority:
            changes = TaskFields(priority=new.priority)
            changed, event = rules.edit(part.task, changes, actor, now)
            note_dropped(t, part.task, now)
            t.put(t.project.task_file(t.project.queue, changed.id), task_dict(changed))
            t.append(event)
            forget(t, part.task)
            remember_content(t, changed)


def claim(
    project: Project,
    task_id: str,
    run: Run,
    now: datetime,
    *,
    alone: bool = False,
    session: str | None = None,
    alive: Alive = taken_for_alive,
) -> Task | None:
    """Takes a queued task for a run, whose record is written with it.

    `alone`: only while no other run is on record. `session` claims for the interactive session that
    the queue is bound to; None for the worker. None when it is no longer there or no longer ready,
    the run slot is taken, or the queue is bound to another than the one who claims.
    """
    with transition(project) as t:
        if is_locked(project.slot_lock) or (alone and ids_in(project.running)):
            return None
        shift = living(project, alive)
        if (shift.session if shift else None) != session:
            return None
        try:
            located = locate(project, task_id, now)
        except NotFound:
            return None
        if located.state != "queued" or located.task.run != run.number:
            return None
        if not is_ready(project, located.task, now):
            return None
        task, event = rules.claim(located.task, run, now)
        t.put(project.task_file(project.running, task.id), task_dict(task))
        t.append(event)
        if shift is not None:
            put_shift(t, took(shift, task))
        t.remove(project.task_file(project.queue, task.id))
    return task


def update_running(project: Project, task: Task) -> None:
    """Writes more into the record of the run that goes on; no transition.

    Raises:
        WrongState: the run is no longer on record.
    """
    with transition(project) as t:
        require_running(t, task)
        t.put(project.task_file(project.running, task.id), task_dict(task))


def give_back(
    project: Project,
    task: Task,
    event: Event,
    *,
    retry: bool,
    note: str | None,
    pause: Pause | None = None,
    launched: bool = True,
    first: Sequence[Event] = (),
    handoff: Handoff | None = None,
    max_lines: int = 100,
) -> bool:
    """Puts a running task back into the queue, for another attempt or (with `pause`) the same.

    False, and nothing is done, when its cancel was asked meanwhile. A person's pause stays. A run
    that was not `launched` leaves no record. `first` are events to be told before it. `handoff`
    goes into the handoff log, which holds `max_lines`.
    """
    with transition(project) as t:
        require_running(t, task)
        if cancel_reason(project, task.id) == "cancelled":
            return False
        if pause is not None and not _held_by_person(project):
            t.put(project.paused, msgspec.to_builtins(pause))
        left = task if launched else rules.unclaimed(task)
        again = rules.give_back(left, retry=retry, note=note)
        t.put(project.task_file(project.queue, task.id), task_dict(again))
        t.append(*first, event)
        if handoff is not None:
            progress.append(t, handoff, max_lines)
        remove_run(t, task.id)
    return True


def _held_by_person(project: Project) -> bool:
    current = read_pause(project)
    return current is not None and current.by != "worker"


def settle(
    project: Project,
    task: Task,
    result: Result,
    now: datetime,
    told: Callable[[], None] | None = None,
    first: Sequence[Event] = (),
    handoff: Handoff | None = None,
    max_lines: int = 100,
) -> Result:
    """Writes the result of a task whose last attempt has ended; `told` once it can be read.

    `first` are events to be told before that of its end. `handoff` goes into the handoff log, which
    holds `max_lines`.
    """
    result = with_task(result, task)
    with transition(project) as t:
        require_running(t, task)
        t.put(project.task_file(project.completed, task.id), result_dict(result))
        t.append(*first, rules.completed(task, result, now))
        if handoff is not None:
            progress.append(t, handoff, max_lines)
        if told is not None:
            t.on_told(told)
        forget(t, task)
        remove_run(t, task.id)
    return result


def clear_run(project: Project, task_id: str) -> None:
    """Removes what is left in running/ of a task that is settled or queued again."""
    with transition(project) as t:
        remove_run(t, task_id)


def cancel_queued(project: Project, task_id: str, actor: Actor, now: datetime) -> Located:
    """Cancels a queued task and its waiting subtasks; any other comes back as it is.

    Raises:
        NotFound: no such task.
        WrongState: its file was dropped and can't be a task.
    """
    require_taken_in(project, task_id, now)
    with transition(project) as t:
        located = locate(project, task_id, now)
        if located.state != "queued":
            return located
        parts = family(project, located.task, now)
        waiting = [part.task for part in parts if part.state == "queued"]
        for task in (*waiting, located.task):
            result, event = rules.cancel(task, actor, now)
            note_dropped(t, task, now)
            t.put(project.task_file(project.completed, task.id), result_dict(result))
            t.append(event)
            forget(t, task)
            t.remove(project.task_file(project.queue, task.id))
    return Located(result.status, located.task, result)


def request_cancel(project: Project, task: Task, reason: str, event: Event | None) -> bool:
    """Asks the run of a task to end; False when that was asked before or it has ended.

    `reason` is `cancelled` or `interrupted`, of which the first counts more; `event` is None when
    it is nobody's decision.
    """
    path = project.run_file(task.id, "cancel")
    with transition(project) as t:
        if not project.task_file(project.running, task.id).exists():
            return False
        if cancel_reason(project, task.id) in (reason, "cancelled"):
            return False
        t.put(path, {"reason": reason})
        if event is not None:
            t.append(event)
    return True


def requeue(
    project: Project,
    task_id: str,
    changes: TaskFields,
    guidance: str | None,
    actor: Actor,
    now: datetime,
    *,
    fresh: bool = False,
    from_user: bool = False,
    max_requeues: int,
) -> Task:
    """Lets a settled task run again under its id; of a parent, the subtasks that failed.

    Raises:
        NotFound: no such task.
        WrongState: it is not settled, or the Architect has requeued it too often in a row.
        BadInput: a field is wrong, or tasks would wait for each other.
    """
    require_all_taken_in(project, changes.depends_on or [], now)
    with transition(project) as t:
        located = locate(project, task_id, now)
        tasks = _to_requeue(project, located, changes, now)
        for task in tasks:
            if not from_user and task.requeues >= max_requeues:
                raise WrongState(
                    f"task {task.id} was requeued {task.requeues} times without the person; "
                    "call escalate_to_user, and requeue with from_user: true on their word"
                )
        again: list[Task] = []
        for task in tasks:
            queued, event = rules.requeue(
                task, changes, guidance, actor, now, fresh=fresh, from_user=from_user
            )
            if queued.depends_on != task.depends_on:
                require_dependencies(project, queued)
            t.put(project.task_file(project.queue, queued.id), task_dict(queued))
            remember_content(t, queued)
            t.append(event)
            for away, place in logs_of(project, queued.id):
                t.move(away, place)
            t.remove(project.task_file(project.completed, queued.id))
            again.append(queued)
        parents = reopen_parents(t, again, actor, now)
        refuse_rings(project, [*again, *parents], now)
    return next((task for task in [*again, *parents] if task.id == located.task.id), located.task)


def _to_requeue(
    project: Project, located: Located, changes: TaskFields, now: datetime
) -> list[Task]:
    if not located.task.children:
        rules.require("requeue", located.task.id, located.state)
        return [located.task]
    if changes != TaskFields():
        raise BadInput("", f"task {located.task.id} is not run itself: change its subtasks")
    return failed_below(project, located.task, now)


def note_event(project: Project, event: Event) -> None:
    """Appends an event that goes with no change of a file."""
    with transition(project) as t:
        t.append(event)
