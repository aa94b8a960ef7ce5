"""Beginning anew: what has ended goes out of sight, what is waiting to be done stays.

A task stays while there is something to do for it: it waits, or it asks, or it is a part of a task
of which another part does. Blocked tasks end as cancelled. With `hard` none stays. Everything goes
to `.ai/archive/<UTC>/` (store/archive.py): results, logs, the handoff log. The timeline, ids and
snapshots stay as they are.

    step                                     crash after it: what the next reset does
    1 runs that nobody has in hand put back  finds them waiting
    2 waiting tasks cancelled, put away      puts away the others
    3 results put away                       puts away the others
    4 handoff log put away, event            nothing: it is done

Nothing is claimed meanwhile: the run slot is held.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime

from loop.actions.finish import finish
from loop.actions.recover import examine, running_ids, void
from loop.core.event import QueueReset, TaskRequeued
from loop.core.recovery import Found
from loop.core.task import Task, TaskFields
from loop.core.task_id import sort_key
from loop.errors import Busy, WrongState
from loop.store import queue
from loop.store.archive import new_archive
from loop.store.clearing import note_reset, put_away_queued, put_away_settled
from loop.store.dependencies import graph_of
from loop.store.intake import set_aside_running, take_in
from loop.store.locks import locked
from loop.store.parents import roll_up
from loop.store.paths import Project
from loop.store.project_files import in_workers_place, usable_config
from loop.store.scan import QueueScan, QueueView, ids_in, locate, read_result

#: Seconds to wait for the run slot: a worker that only looks at it holds it for a moment.
_SLOT_S = 2.0


@dataclass(frozen=True, slots=True)
class Outlook:
    """What a reset would do, or did."""

    #: waiting tasks that are cancelled: blocked ones; with `hard`, all
    cancelled: list[str] = field(default_factory=list)
    #: tasks whose results are put away
    cleared: list[str] = field(default_factory=list)
    #: tasks whose run nobody has in hand, so that they wait again
    put_back: list[str] = field(default_factory=list)
    #: waiting tasks that stay
    kept: int = 0
    #: tasks that stay since they ask something
    asking: list[str] = field(default_factory=list)
    #: where it went, relative to the project; None when nothing was put away
    folder: str | None = None


def outlook(project: Project, now: datetime, *, hard: bool) -> Outlook:
    """What a reset would do now.

    Raises:
        WrongState: a run goes on.
    """
    lost = [task_id for task_id, _, _ in _lost_runs(project, now)]
    found = _sorted_out(project, QueueScan(project, lambda: now).look(), now, hard=hard)
    cancelled = [*found.cancelled, *lost] if hard else found.cancelled
    kept = found.kept + (0 if hard else len(lost))
    return Outlook(cancelled, found.cleared, lost, kept, found.asking)


def reset(project: Project, now: datetime, *, hard: bool) -> Outlook:
    """Puts out of sight what has ended; with `hard`, everything.

    Raises:
        WrongState: a run goes on; nothing was changed.
        Busy: the run slot could not be had.
    """
    _lost_runs(project, now)
    with _nothing_starts(project):
        put_back = _put_back(project, now)
        scan = QueueScan(project, lambda: now)
        take_in(project, scan.look(), now)
        while ended := graph_of(project, scan.look().tasks, now).ended_parents():
            roll_up(project, ended, now)
        found = _sorted_out(project, scan.look(), now, hard=hard)
        if not (found.cancelled or found.cleared or put_back):
            return found
        archive = new_archive(project, now) if found.cancelled or found.cleared else None
        if archive is not None:
            put_away_queued(project, archive, found.cancelled, "user", now)
            put_away_settled(project, archive, found.cleared)
        folder = archive.relative_to(project.root).as_posix() if archive else None
        event = QueueReset(
            ts=now,
            actor="user",
            hard=hard,
            cleared=len(found.cleared),
            cancelled=len(found.cancelled),
            put_back=put_back,
            folder=folder,
        )
        note_reset(project, archive, event)
    return Outlook(found.cancelled, found.cleared, put_back, found.kept, found.asking, folder)


def _sorted_out(project: Project, view: QueueView, now: datetime, *, hard: bool) -> Outlook:
    """Which tasks go and which stay."""
    settled = sorted(ids_in(project.completed), key=sort_key)
    graph = graph_of(project, view.tasks, now)
    ended = graph.ended_parents()  # their results are only to be written
    if hard:
        waiting = sorted(view.tasks.keys() - ended.keys(), key=sort_key)
        return Outlook(waiting, sorted([*settled, *ended], key=sort_key))
    results = {task_id: read_result(project, task_id) for task_id in settled}
    asking = [i for i, result in results.items() if result and result.status == "needs_input"]
    to_do = [i for i, t in view.tasks.items()
             if not t.children and graph.standing(i).state == "queued"]  # fmt: skip
    stay = {_top(task_id) for task_id in (*to_do, *asking)}
    gone = [i for i in sorted(view.tasks, key=sort_key) if _top(i) not in stay]
    cancelled = [i for i in gone if i not in ended]
    cleared = [i for i, result in results.items() if result and _top(i) not in stay]
    cleared = sorted([*cleared, *(i for i in gone if i in ended)], key=sort_key)
    return Outlook(cancelled, cleared, kept=len(view.tasks) - len(gone), asking=asking)


def _top(task_id: str) -> str:
    """The task of its own that a subtask is a part of."""
    return task_id.partition(".")[0]


@contextmanager
def _nothing_starts(project: Project) -> Iterator[None]:
    """Holds the run slot.

    Raises:
        Busy: it could not be had.
    """
    try:
        with locked(project.slot_lock, within_s=_SLOT_S):
            yield
    except Busy:
        raise Busy("something else has the run slot, such as an undo; try again") from None


def _lost_runs(project: Project, now: datetime) -> list[tuple[str, Found, Task | None]]:
    """What lies in running/ though no run goes on.

    Raises:
        WrongState: one goes on, or a worker is at it.
    """
    found: list[tuple[str, Found, Task | None]] = []
    for task_id in running_ids(project):
        what, task = examine(project, task_id, now)
        if what in (Found.WAIT, Found.HELD):
            raise WrongState(
                f"task {task_id} is running: cancel_task it first, or wait for its end"
            )
        found.append((task_id, what, task))
    return found


def _put_back(project: Project, now: datetime) -> list[str]:
    """Has the tasks of lost runs wait again; their ids."""
    if not running_ids(project):
        return []
    with in_workers_place(project) as mine:
        if not mine:
            first = running_ids(project)[0]
            raise WrongState(f"a worker is about to go on with task {first}: cancel_task it first")
        return [
            task_id
            for task_id, what, task in _lost_runs(project, now)
            if _is_put_back(project, task_id, what, task, now)
        ]


def _is_put_back(
    project: Project, task_id: str, what: Found, task: Task | None, now: datetime
) -> bool:
    """Ends a lost run; whether its task waits again because of that.

    What it had done is judged as a worker would: it may have ended well.
    """
    if task is None:
        name = project.task_file(project.running, task_id).name
        set_aside_running(project, name, "the record of a run that can't be read")
        return False
    if what is Found.CLEAR:
        queue.clear_run(project, task_id)
        return False
    if what is Found.LAUNCH:
        if not void(project, task, None):
            raise WrongState(f"task {task_id} has just started: cancel_task it first")
        event = TaskRequeued(ts=now, actor="user", task_id=task_id, run=task.run + 1)
        done = task.runs[-1].driver == "session"  # then it is a run, though nothing was launched
        note = task.note_to_run
        if queue.give_back(project, task, event, retry=False, note=note, launched=done):
            return True
    finish(project, task, usable_config(project), now)
    located = locate(project, task_id, now)
    if located.result is not None and located.result.reason == "interrupted":
        queue.requeue(
            project, task_id, TaskFields(), None, "user", now, from_user=True, max_requeues=0
        )
    return locate(project, task_id, now).state == "queued"
