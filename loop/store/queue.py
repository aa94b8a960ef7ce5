"""Every transition of a task, on disk: read under the lock, decide, put, append, remove.

What a transition means stands in core/transition.py; this file says which files it touches. All
take the state lock themselves and re-read under it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from loop.core import transition as rules
from loop.core.event import Actor, Event
from loop.core.result import Result, result_dict, with_task
from loop.core.task import Run, Task, TaskFields, task_dict, task_from
from loop.errors import BadInput, LoopError, NotFound, WrongState
from loop.store.files import read
from loop.store.ids import next_id
from loop.store.journal import Transition, transition
from loop.store.locks import is_locked
from loop.store.paths import Project
from loop.store.project_files import Pause, read_pause
from loop.store.scan import Located, is_dropped, locate, read_task
from loop.store.submissions import (
    digest,
    forget,
    remember,
    remember_content,
    sent_alike,
    sent_under_key,
)

#: Small files of a run, in the order in which they go with it.
RUN_FILES = ("prompt", "launch", "exit", "guard", "cancel")


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
    with transition(project) as t:
        known = _known(project, draft, now)
        if known is not None:
            return known
        task = msgspec.structs.replace(draft, id=next_id(project))
        t.put(project.task_file(project.queue, task.id), task_dict(task))
        t.append(rules.submit(task, actor, now))
        remember(t, task)
    return Submitted(task)


def _known(project: Project, draft: Task, now: datetime) -> Submitted | None:
    if draft.key is not None and (sent := sent_under_key(project, draft.key)):
        task_id, content = sent
        elder = _if_there(project, task_id, now)
        if elder is None:
            return None
        if content != digest(draft):
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
    with transition(project) as t:
        located = locate(project, task_id, now)
        rules.require("edit", located.task.id, located.state)
        changed, event = rules.edit(located.task, changes, actor, now)
        _take_in(t, located.task, now)
        if digest(changed) != digest(located.task):
            forget(t, located.task)
            remember_content(t, changed)
        t.put(project.task_file(project.queue, changed.id), task_dict(changed))
        t.append(event)
    return changed


def _take_in(t: Transition, task: Task, now: datetime) -> None:
    """A dropped file that is changed before the worker has seen it has a beginning, too."""
    if is_dropped(t.project, task.id, now):
        t.append(rules.submit(task, "user", now))


def claim(project: Project, task_id: str, run: Run, now: datetime) -> Task | None:
    """Takes a queued task for a run, whose record is written with it.

    None when it is no longer there, or the run slot is taken.
    """
    with transition(project) as t:
        if is_locked(project.slot_lock):
            return None
        try:
            located = locate(project, task_id, now)
        except NotFound:
            return None
        if located.state != "queued" or located.task.run != run.number:
            return None
        task, event = rules.claim(located.task, run, now)
        t.put(project.task_file(project.running, task.id), task_dict(task))
        t.append(event)
        t.remove(project.task_file(project.queue, task.id))
    return task


def update_running(project: Project, task: Task) -> None:
    """Writes more into the record of the run that goes on; no transition."""
    with transition(project) as t:
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
) -> bool:
    """Puts a running task back into the queue, for another attempt or (with `pause`) the same.

    False, and nothing is done, when its cancel was asked meanwhile. A person's pause stays. A run
    that was not `launched` leaves no record. `first` are events to be told before it.
    """
    with transition(project) as t:
        _require_running(t, task)
        if cancel_reason(project, task.id) == "cancelled":
            return False
        if pause is not None and not _held_by_person(project):
            t.put(project.paused, msgspec.to_builtins(pause))
        left = task if launched else rules.unclaimed(task)
        again = rules.give_back(left, retry=retry, note=note)
        t.put(project.task_file(project.queue, task.id), task_dict(again))
        t.append(*first, event)
        _remove_run(t, task.id)
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
) -> Result:
    """Writes the result of a task whose last attempt has ended; `told` once it can be read.

    `first` are events to be told before that of its end.
    """
    result = with_task(result, task)
    with transition(project) as t:
        _require_running(t, task)
        t.put(project.task_file(project.completed, task.id), result_dict(result))
        t.append(*first, rules.completed(task, result, now))
        if told is not None:
            t.on_told(told)
        forget(t, task)
        _remove_run(t, task.id)
    return result


def _require_running(t: Transition, task: Task) -> None:
    """Checks that the run that is to be ended still is the one on record."""
    path = t.project.task_file(t.project.running, task.id)
    record = read_task(path, task.id, task.created_at)
    if record is None or not record.runs or record.runs[-1].uuid != task.runs[-1].uuid:
        raise WrongState(f"run {task.run} of task {task.id} is no longer on record")


def clear_run(project: Project, task_id: str) -> None:
    """Removes what is left in running/ of a task that is settled or queued again."""
    with transition(project) as t:
        _remove_run(t, task_id)


def _remove_run(t: Transition, task_id: str) -> None:
    t.remove(*run_files(t.project, task_id), t.project.task_file(t.project.running, task_id))


def run_files(project: Project, task_id: str) -> list[Path]:
    """The small files of a task's run."""
    return [project.run_file(task_id, suffix) for suffix in RUN_FILES]


def cancel_queued(project: Project, task_id: str, actor: Actor, now: datetime) -> Located:
    """Cancels a queued task; any other comes back as it is."""
    with transition(project) as t:
        located = locate(project, task_id, now)
        if located.state != "queued":
            return located
        result, event = rules.cancel(located.task, actor, now)
        _take_in(t, located.task, now)
        t.put(project.task_file(project.completed, located.task.id), result_dict(result))
        t.append(event)
        forget(t, located.task)
        t.remove(project.task_file(project.queue, located.task.id))
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


def cancel_reason(project: Project, task_id: str) -> str | None:
    """What a run's cancel file asks for; None when there is none."""
    data = read(project.run_file(task_id, "cancel"))
    if data is None:
        return None
    try:
        asked = json.loads(data)
    except ValueError:
        return "cancelled"
    return str(asked.get("reason", "cancelled")) if isinstance(asked, dict) else "cancelled"


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
    """Lets a settled task run again under its id.

    Raises:
        NotFound: no such task.
        WrongState: it is not settled, or the Architect has requeued it too often in a row.
    """
    with transition(project) as t:
        located = locate(project, task_id, now)
        rules.require("requeue", located.task.id, located.state)
        if not from_user and located.task.requeues >= max_requeues:
            raise WrongState(
                f"task {located.task.id} was requeued {located.task.requeues} times without the "
                "person; call escalate_to_user, and requeue with from_user: true on their word"
            )
        task, event = rules.requeue(
            located.task, changes, guidance, actor, now, fresh=fresh, from_user=from_user
        )
        t.put(project.task_file(project.queue, task.id), task_dict(task))
        remember_content(t, task)
        t.append(event)
        t.remove(project.task_file(project.completed, task.id))
    return task


def note_event(project: Project, event: Event) -> None:
    """Appends an event that goes with no change of a file."""
    with transition(project) as t:
        t.append(event)
