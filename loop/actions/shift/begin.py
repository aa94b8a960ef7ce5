"""The beginning of a shift: the queue is bound to one interactive session, which gets a task.

While a living session is bound, nobody else claims (store/queue.py decides it under the state
lock). A run that goes on headless is waited for before the first task is taken.
"""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass
from datetime import datetime

import msgspec

from loop.actions import notify
from loop.actions.finish import finish
from loop.actions.ready import check_brought, check_folders
from loop.actions.recover import examine, running_ids, void
from loop.actions.shift.over import over_words, remove_binding, settle_left_behind
from loop.actions.shift.take import (
    Left,
    Taken,
    begun,
    environment,
    hand_out,
    take_next,
)
from loop.actions.shift.text import ended_already, left_over, task_text
from loop.builder.permissions import check_command
from loop.builder.session import Process, is_alive
from loop.core.checks import convert
from loop.core.config import Config
from loop.core.graph import Graph
from loop.core.recovery import Found
from loop.core.task import Task
from loop.errors import BadInput, LoopError, WrongState
from loop.git.command import find_git
from loop.store import queue
from loop.store.intake import set_aside_running
from loop.store.journal import transition
from loop.store.locks import wait_unlocked
from loop.store.paths import Project
from loop.store.project_files import in_workers_place, load_config, read_pause
from loop.store.run_report import read_report
from loop.store.shift import Limits, Shift, at_hand, put_shift, read_shift

#: Seconds that one call waits for a headless run: a Bash call of a session ends at 120 s.
WAIT_S = 100.0
#: Seconds between two looks at what nothing tells of: a worker finishing a run.
_LOOK_AGAIN_S = 0.05


@dataclass(frozen=True, slots=True)
class Begun:
    """A shift that goes on."""

    #: what the session is told first
    text: str
    task: Task
    #: about the binding that was in the way; None when there was none
    note: str | None = None


def begin(
    project: Project,
    session: str,
    process: Process,
    limits: Limits,
    now: datetime,
    *,
    wait_s: float = WAIT_S,
) -> Begun | str:
    """Binds a session and gives it its first task; in a bound session the task at hand again, or
    word that its end is on record.

    Text is why there is no task; the shift has ended then, with nothing bound.

    Raises:
        BadInput: a limit is none.
        NotReady: something is missing on this machine, or not approved.
        WrongState: another session is bound, the queue is paused, or a headless run goes on for
            longer than `wait_s`.
    """
    convert(msgspec.to_builtins(limits), Limits)  # else what is written could not be read again
    check_folders(project)
    config = load_config(project)
    find_git()
    check_brought(project)
    check_command(project, config)
    pause = read_pause(project)
    if pause is not None and pause.by != "worker":
        raise WrongState(f"the queue is paused ({pause.reason}): `loop resume` lifts it")
    notify.begin(project, notify.posts_of(config, os.environ))
    shift, note = _bind(project, session, process, limits, now)
    task = at_hand(project, shift, now)
    if task is not None and read_report(project, task) is not None:
        return Begun(ended_already(task), task, note)
    if task is not None:
        # What it has done by now is no state from before the run: that is not verified as such.
        checks = None if shift.handed_out else environment()
        task = begun(project, task, config, now, baseline=checks)
        return _handed_out(project, task, config, now, note)
    try:
        _until_free(project, now, wait_s)
        taken = _taken(project, shift, config, now, wait_s)
    except LoopError:
        if shift.since == now:  # bound just now, and of no use
            remove_binding(project, shift)
        raise
    if isinstance(taken, Left):
        remove_binding(project, shift)
        if not taken.any:
            return "no task is waiting: /loop:add or /loop:plan queues some"
        why = f"nothing that is left can run: {left_over(taken.blocked, taken.waiting)}"
        return why if shift.since == now else over_words(project, shift, why)
    return _handed_out(project, taken.task, config, now, note, taken.graph)


def _handed_out(
    project: Project,
    task: Task,
    config: Config,
    now: datetime,
    note: str | None,
    graph: Graph | None = None,
) -> Begun:
    text = task_text(project, task, config, now, graph, first=True)
    hand_out(project, task)
    return Begun(text, task, note)


def _bind(
    project: Project, session: str, process: Process, limits: Limits, now: datetime
) -> tuple[Shift, str | None]:
    note = None
    with transition(project) as t:
        try:
            current = read_shift(project)
        except BadInput as error:
            current, note = None, f"shift.json was damaged and is replaced ({error})"
        if current is not None and is_alive(current) and not _left(current, session, process):
            if current.session != session or current.pid != process.pid:
                raise WrongState(
                    f"another session works the queue (process {current.pid}, since "
                    f"{current.since:%H:%M} UTC): stop it there with /loop:stop, or close it"
                )
            note = "its request to stop is taken back" if current.stop else None
            shift = _going_on(project, current, limits, now)
            if shift != current:
                put_shift(t, shift)
            return shift, note
        if current is not None:
            note = f"the session that was bound has ended (process {current.pid})"
        shift = Shift(
            session=session,
            pid=process.pid,
            start=process.start,
            boot=process.boot,
            since=now,
            limits=limits,
        )
        put_shift(t, shift)
    return shift, note


def _going_on(project: Project, shift: Shift, limits: Limits, now: datetime) -> Shift:
    """The binding of a session that begins once more; limits that it names count from now."""
    shift = msgspec.structs.replace(shift, stop=False)
    if limits == Limits():
        return shift
    taken = 0 if at_hand(project, shift, now) is None else 1
    return msgspec.structs.replace(shift, limits=limits, since=now, iterations=taken)


def _left(shift: Shift, session: str, process: Process) -> bool:
    """Whether the bound session has left its process to another, such as by /clear."""
    return shift.session != session and (shift.pid, shift.start, shift.boot) == process


def _until_free(project: Project, now: datetime, wait_s: float) -> None:
    """Waits until no run is in the way: what is left of sessions is ended, headless ones end.

    Raises:
        WrongState: a run goes on for longer than `wait_s`.
    """
    deadline = time.monotonic() + wait_s
    settle_left_behind(project, now)
    while running := running_ids(project):
        left_s = deadline - time.monotonic()
        if left_s <= 0:
            raise WrongState(
                f"task {running[0]} is still being run headless: say this again, it waits on"
            )
        _wait_unlocked(project, running[0], left_s)
        _do_workers_part(project, running[0], now)
        if running_ids(project):
            time.sleep(min(_LOOK_AGAIN_S, max(0.0, deadline - time.monotonic())))


def _wait_unlocked(project: Project, task_id: str, most_s: float) -> None:
    """Waits for the end of a headless run, by the lock on its log."""
    try:
        descriptor = os.open(project.log(task_id), os.O_RDWR)
    except FileNotFoundError:
        return

    def wait() -> None:
        try:
            wait_unlocked(descriptor)
        finally:
            os.close(descriptor)

    thread = threading.Thread(target=wait, name=f"lock {task_id}", daemon=True)
    thread.start()
    thread.join(most_s)


def _do_workers_part(project: Project, task_id: str, now: datetime) -> None:
    """Where no worker works, ends the run that one has left."""
    with in_workers_place(project) as mine:
        if not mine:
            return
        found, task = examine(project, task_id, now)
        if task is not None and found is Found.LAUNCH and void(project, task, "interrupted"):
            found = Found.JUDGE
        if task is not None and found is Found.JUDGE:
            finish(project, task, load_config(project), now)
        elif found is Found.SET_ASIDE:
            name = project.task_file(project.running, task_id).name
            set_aside_running(project, name, "the record of a run that can't be read")
        elif found is Found.CLEAR:
            queue.clear_run(project, task_id)


def _taken(
    project: Project, shift: Shift, config: Config, now: datetime, wait_s: float
) -> Taken | Left:
    deadline = time.monotonic() + wait_s
    while True:
        taken = take_next(project, shift, config, now, baseline=environment())
        if taken is not None:
            return taken
        if time.monotonic() > deadline:
            raise WrongState("the queue is being used by another command: try again")
        time.sleep(_LOOK_AGAIN_S)
        _until_free(project, now, wait_s)
