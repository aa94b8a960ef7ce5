"""The state machine of a task: every transition, as a pure function from copy to copy.

    (none) --submit--> queued --claim--> running --settle--> success | failure | needs_input
              edit: queued -> queued        |                            |
                           ^---- give_back -+                            |
                           ^---- requeue --------------------------------+
              cancel: queued -> failure (a running task is cancelled by ending its run)
              end: any but running -> success | failure, by hand

Every copy carries the number of the run it is about. `give_back` and `requeue` count it up, so the
newer copy wins wherever two are found.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final, Literal

import msgspec

from loop.core.event import (
    Actor,
    Event,
    QueuePaused,
    RunCompleted,
    RunStarted,
    TaskCancelled,
    TaskEdited,
    TaskQueued,
    TaskRequeued,
)
from loop.core.result import Result
from loop.core.task import Run, Task, TaskFields, task_dict, task_from
from loop.errors import BadInput, WrongState

#: What each verb needs the task to be.
FROM: Final[dict[str, tuple[str, ...]]] = {
    "edit": ("queued",),
    "claim": ("queued",),
    "give_back": ("running",),
    "settle": ("running",),
    "requeue": ("success", "failure", "needs_input"),
    "cancel": ("queued",),
    "end": ("queued", "success", "failure", "needs_input"),
}
_HINTS = {
    "edit": "only a queued task can be edited; requeue_task changes a settled one",
    "requeue": "only a settled task can be requeued; edit_task changes a queued one",
    "end": "cancel_task ends its run first",
}


def require(verb: str, task_id: str, state: str) -> None:
    """Checks that a task in `state` may take `verb`.

    Raises:
        WrongState: it may not.
    """
    if state not in FROM[verb]:
        hint = _HINTS.get(verb, "nothing was changed")
        ended = state in FROM["requeue"]
        raise WrongState(
            f"task {task_id} {f'has ended ({state})' if ended else f'is {state}'}: {hint}"
        )


def submit(task: Task, actor: Actor, now: datetime) -> Event:
    """The event of a task that enters the queue."""
    return TaskQueued(
        ts=now,
        actor=actor,
        task_id=task.id,
        instructions=task.instructions,
        title=task.title,
        key=task.key,
    )


def edit(task: Task, changes: TaskFields, actor: Actor, now: datetime) -> tuple[Task, Event]:
    """The task with the given fields replaced.

    Raises:
        BadInput: no field was given, or another parent.
    """
    require("edit", task.id, "queued")
    given = {k: v for k, v in msgspec.structs.asdict(changes).items() if v is not None}
    if not given:
        raise BadInput("", "give at least one field to change, such as instructions")
    changed = task_from(task_dict(task) | msgspec.to_builtins(given), task.id, now)
    _keep_parent(task, changed)
    return changed, TaskEdited(ts=now, actor=actor, task_id=task.id, fields=sorted(given))


def _keep_parent(task: Task, changed: Task) -> None:
    if changed.parent != task.parent:
        where = f"task {task.parent}" if task.parent else "no task"
        raise BadInput("parent", f"task {task.id} stays a part of {where}; queue another instead")


def claim(task: Task, run: Run, now: datetime) -> tuple[Task, Event]:
    """The task with the record of the run that starts."""
    require("claim", task.id, "queued")
    claimed = msgspec.structs.replace(task, runs=[*task.runs, run], fresh=False)
    event = RunStarted(
        ts=now, actor="builder", task_id=task.id, run=run.number, uuid=run.uuid, attempt=run.attempt
    )
    return claimed, event


def new_run(task: Task, uuid: str, now: datetime, **known: Any) -> Run:
    """The record of the task's next run; `known` are further fields of it."""
    return Run(number=task.run, uuid=uuid, started=now, attempt=task.attempt, **known)


def end_run(task: Task, **ending: Any) -> Task:
    """The task with its last run's record completed by `ending`."""
    last = msgspec.structs.replace(task.runs[-1], **ending)
    return msgspec.structs.replace(task, runs=[*task.runs[:-1], last])


def unclaimed(task: Task) -> Task:
    """A claimed task without the record of its run, which was never launched."""
    *earlier, run = task.runs
    fresh = bool(earlier) and run.session in (None, run.uuid)
    return msgspec.structs.replace(task, runs=earlier, fresh=fresh)


def give_back(task: Task, *, retry: bool, note: str | None) -> Task:
    """A running task back in the queue: for another attempt, or (a pause) for the same one."""
    return msgspec.structs.replace(
        task,
        run=task.run + 1,
        attempt=task.attempt + 1 if retry else task.attempt,
        note_to_run=note,
    )


def paused(
    task: Task, kind: str, reason: str, until: datetime | None, now: datetime, *, tries: int
) -> Event:
    """The event of a run that met a limit and decides nothing about its task."""
    return QueuePaused(
        ts=now,
        actor="builder",
        task_id=task.id,
        run=task.run,
        reason=reason,
        kind=kind,
        until=until,
        tries=tries,
        cost_usd=task.runs[-1].cost if task.runs else None,
    )


def completed(task: Task, result: Result, now: datetime) -> Event:
    """The event of the run that settled the task."""
    return RunCompleted(
        ts=now,
        actor="builder",
        task_id=task.id,
        run=task.run,
        status=result.status,
        reason=result.reason,
        commit_hash=result.commit_hash,
        cost_usd=task.runs[-1].cost,
        most_usd=_most_usd(task),
    )


def _most_usd(task: Task) -> float | None:
    return task.max_budget_usd if task.runs[-1].cost is None else None


def split(task: Task, commit_hash: str | None, now: datetime) -> RunCompleted:
    """The event of a run that split its task into subtasks, which go on with it."""
    return RunCompleted(
        ts=now,
        actor="builder",
        task_id=task.id,
        run=task.run,
        status="success",
        reason="split",
        commit_hash=commit_hash,
        cost_usd=task.runs[-1].cost,
        most_usd=_most_usd(task),
        retry=True,
    )


def retried(task: Task, reason: str, commit_hash: str | None, now: datetime) -> Event:
    """The event of a run that failed and is followed by another attempt."""
    return RunCompleted(
        ts=now,
        actor="builder",
        task_id=task.id,
        run=task.run,
        status="failure",
        reason=reason,
        commit_hash=commit_hash,
        cost_usd=task.runs[-1].cost,
        most_usd=_most_usd(task),
        retry=True,
    )


def requeue(
    task: Task,
    changes: TaskFields,
    guidance: str | None,
    actor: Actor,
    now: datetime,
    *,
    fresh: bool,
    from_user: bool,
) -> tuple[Task, Event]:
    """A settled task as it runs again: same id, next run, first attempt."""
    given = {k: v for k, v in msgspec.structs.asdict(changes).items() if v is not None}
    again = task_from(task_dict(task) | msgspec.to_builtins(given), task.id, now)
    _keep_parent(task, again)
    again = msgspec.structs.replace(
        again,
        run=task.run + 1,
        attempt=1,
        guidance=[*task.guidance, guidance] if guidance else task.guidance,
        requeues=0 if from_user else task.requeues + 1,
        note_to_run=None,
        fresh=fresh,
    )
    event = TaskRequeued(
        ts=now,
        actor=actor,
        task_id=task.id,
        run=again.run,
        guidance=guidance,
        from_user=from_user,
    )
    return again, event


def cancel(task: Task, actor: Actor, now: datetime) -> tuple[Result, Event]:
    """The result of a queued task that will not run."""
    require("cancel", task.id, "queued")
    result = Result(
        task_id=task.id,
        status="failure",
        reason="cancelled",
        summary=f"Cancelled by the {actor} before it ran.",
        completed_at=now,
        runs=len(task.runs),
        cost_usd=_cost_usd(task),
        task=task_dict(task),
    )
    return result, TaskCancelled(ts=now, actor=actor, task_id=task.id)


def _cost_usd(task: Task) -> float | None:
    """What all runs of a task have cost; None when that of one is unknown."""
    costs = [run.cost for run in task.runs]
    known = [cost for cost in costs if cost is not None]
    return round(sum(known, 0.0), 6) if len(known) == len(costs) else None


def end_by_hand(
    task: Task,
    known: Result | None,
    status: Literal["success", "failure"],
    words: str | None,
    actor: Actor,
    now: datetime,
    notes: str | None = None,
) -> tuple[Result, Event]:
    """The result of a task that somebody ends without a run; `known` is the one that it has.

    What is known of its runs is kept. `words` say how or why; None says who did it. `notes` are for
    tasks that build on this one; None keeps those that are there.
    """
    require("end", task.id, "queued" if known is None else known.status)
    earlier = known or Result(
        task_id=task.id,
        status=status,
        summary="",
        completed_at=now,
        runs=len(task.runs),
        cost_usd=_cost_usd(task),
        task=task_dict(task),
    )
    result = msgspec.structs.replace(
        earlier,
        status=status,
        reason="by_hand",
        summary=words or f"Ended as {status} by the {actor}, without a run.",
        notes=notes or earlier.notes,
        completed_at=now,
    )
    event = RunCompleted(
        ts=now,
        actor=actor,
        task_id=task.id,
        status=status,
        reason="by_hand",
        commit_hash=None,
        cost_usd=0.0,
    )
    return result, event
