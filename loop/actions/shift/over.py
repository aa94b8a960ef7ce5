"""The end of a shift, and of what its session leaves behind.

The binding is removed before what it held is dealt with; from then on the run belongs to the holder
of the worker's lock, like any other that was left behind.
"""

from __future__ import annotations

from datetime import datetime

import msgspec

from loop.actions.before import snapshot_after
from loop.actions.finish import Finished, finish
from loop.actions.shift.text import questions, summary
from loop.builder.session import is_alive
from loop.core import transition as rules
from loop.core.event import RunCompleted
from loop.core.last_attempt import broken_off
from loop.core.recovery import Found
from loop.core.task import Task
from loop.errors import BadInput, LoopError
from loop.store import queue
from loop.store.journal import transition
from loop.store.paths import Project
from loop.store.project_files import in_workers_place, usable_config
from loop.store.shift import Shift, put_shift, read_shift


def stop(project: Project, now: datetime) -> tuple[Shift | None, bool]:
    """Asks the shift to end at its session's next stop; and whether it was void, and has ended.

    None when there is none.
    """
    with transition(project) as t:
        damaged = False
        try:
            shift = read_shift(project)
        except BadInput:
            shift, damaged = None, True
        if shift is None and not damaged:
            return None, False
        alive = shift is not None and is_alive(shift)
        if shift is not None and alive and not shift.stop:
            shift = msgspec.structs.replace(shift, stop=True)
            put_shift(t, shift)
        if not alive:
            t.remove(project.shift)
    if not alive:
        settle_left_behind(project, now)
    return shift, not alive


def over_words(project: Project, shift: Shift, why: str) -> str:
    """What the person is told at the end of a shift: why, and what it came to."""
    lines = [f"loop: the shift is over: {why}."]
    done = summary(project, shift.since)
    if done:
        lines.append(f"In this shift: {done}. `loop status` shows the queue.")
    lines += questions(project, shift.since)
    return "\n".join(lines)


def remove_binding(project: Project, shift: Shift) -> bool:
    """Takes a binding away; False when another one is in force, or none."""
    with transition(project) as t:
        try:
            current = read_shift(project)
        except LoopError:
            current = shift  # damaged: nobody's
        if current is None or (current.session, current.since) != (shift.session, shift.since):
            return False
        t.remove(project.shift)
    return True


def end_shift(project: Project, shift: Shift, now: datetime) -> None:
    """Ends a shift whose session has ended: its run is settled by its report, or interrupted.

    Where a worker works, that does it.
    """
    remove_binding(project, shift)
    settle_left_behind(project, now)


def settle_left_behind(project: Project, now: datetime) -> list[Finished]:
    """Ends runs of sessions that are gone, unless a worker does; what became of each."""
    from loop.actions.recover import examine, running_ids

    done = []
    with in_workers_place(project) as mine:
        for task_id in running_ids(project) if mine else []:
            found, task = examine(project, task_id, now)
            if task is None or task.runs[-1].driver != "session":
                continue
            if found is Found.CLEAR:
                queue.clear_run(project, task_id)
            elif found is Found.JUDGE:
                done.append(finish(project, task, usable_config(project), now))
    return done


def give_back(project: Project, task: Task, why: str, now: datetime) -> bool:
    """Puts the task at hand back into the queue, for the same attempt, told what was half done.

    False, and nothing is done, when its cancel was asked meanwhile.
    """
    note = broken_off(why)
    after = snapshot_after(project, task, usable_config(project))
    task = rules.end_run(task, status="paused", reason="stopped", ended=now, said=why, after=after)
    event = RunCompleted(
        ts=now,
        actor="user",
        task_id=task.id,
        run=task.run,
        status="paused",
        reason="stopped",
        commit_hash=None,
        cost_usd=None,
        most_usd=task.max_budget_usd,
        retry=True,
    )
    return queue.give_back(project, task, event, retry=False, note=note)
