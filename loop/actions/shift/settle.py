"""A stop of the bound session: the task at hand ends, the next one is handed out.

Called by the hooks of the bound session. Every step bears repetition: a hook that was killed in the
middle leaves either the run with its report (the next stop settles it, or, when the session is
gone, whoever works the queue next), or a settled run and a binding without a task at hand.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

import msgspec

from loop.actions.before import snapshot_after, unseen
from loop.actions.finish import finish
from loop.actions.in_session import changed_since, end_in_session
from loop.actions.shift.limits import minutes_are_over, reached
from loop.actions.shift.over import give_back, over_words, remove_binding
from loop.actions.shift.take import Left, Taken, begun, hand_out, keep_up, take_next
from loop.actions.shift.text import (
    check_first,
    left_over,
    questions,
    report_first,
    task_text,
)
from loop.actions.verification import commands_of, unknown_before
from loop.core.config import Config
from loop.core.graph import Graph
from loop.core.task import Task
from loop.errors import NotReady
from loop.git.command import repository_of
from loop.store.files import read
from loop.store.journal import transition
from loop.store.locks import FileLock
from loop.store.paths import Project
from loop.store.project_files import load_config, read_pause
from loop.store.run_files import cancel_reason
from loop.store.run_report import RunReport, read_report, withdraw_report
from loop.store.shift import Shift, at_hand, put_shift, read_shift

#: How often the session is told to say how its task ended, before that counts as a failure. With
#: the tasks in a row that may end so (limits.py) it stays below the 8 blocks in a row after which
#: Claude Code ends a turn whatever its hooks say.
MOST_TOLD = 2
_CLAIMS = ("done", "no_change_needed")

#: Why a claimed ending is refused, in words for the session; None lets it pass.
Guard = Callable[[Task, Config], str | None]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a stop of the bound session comes to; with neither, it passes without a word."""

    #: the session goes on, and reads this
    block: str | None = None
    #: the shift is over, and the person reads this
    over: str | None = None


def settle_stop(
    project: Project,
    session: str,
    now: datetime,
    guard: Guard,
    transcript: str | None = None,
    *,
    began_s: float | None = None,
) -> Answer:
    """What to do at a stop of the bound session: end the task at hand, hand out the next.

    `began_s` is when the hook began, by the monotonic clock; None: now.

    Raises:
        LoopError: the disk or git does not take it, or the settings are wrong; the next stop
            tries again.
    """
    lock = FileLock(project.shift_lock)
    if not lock.try_acquire():
        return Answer()  # another hook of the same stop is at it
    try:
        with transition(project):  # what a hook that was killed had begun is finished first
            shift = read_shift(project)
        if shift is None or shift.session != session:
            return Answer()
        if began_s is not None and began_s < _answered_s(project, shift):
            return Answer()  # another hook of the same stop was faster
        said = _Stop(project, shift, now, transcript).answer(guard)
        if said.block is not None:
            with suppress(OSError):  # a full disk; what is said counts more
                lock.write(f"{shift.boot} {time.monotonic()}".encode())
        return said
    finally:
        lock.release()


def _answered_s(project: Project, shift: Shift) -> float:
    """When the session was last told to go on, by the monotonic clock; 0 when not, or unknown."""
    boot, _, moment = (read(project.shift_lock) or b"").decode(errors="replace").partition(" ")
    with suppress(ValueError):
        return float(moment) if boot == shift.boot else 0.0
    return 0.0


class _Stop:
    """One stop of the bound session."""

    def __init__(
        self, project: Project, shift: Shift, now: datetime, transcript: str | None
    ) -> None:
        self._project = project
        self._shift = shift
        self._now = now
        self._transcript = transcript
        self._config = load_config(project)

    def answer(self, guard: Guard) -> Answer:
        task = at_hand(self._project, self._shift, self._now)
        if task is not None:
            refusal = self._end_task(task, guard)
            if refusal is not None:
                return Answer(block=refusal)
        over = (
            reached(self._shift, self._now, self._transcript) or self._held() or self._not_allowed()
        )
        if over is not None:
            keep_up(self._project, self._now)
            return self._over(over)
        taken = take_next(self._project, self._shift, self._config, self._now)
        if isinstance(taken, Taken):
            return Answer(block=self._handed_out(taken.task, taken.graph))
        if taken is None:
            return self._not_free()
        return self._over(self._nothing_left(taken))

    def _end_task(self, task: Task, guard: Guard) -> str | None:
        """Ends the run of the task at hand; else what the session is told to do first."""
        said = read_report(self._project, task)
        if cancel_reason(self._project, task.id) is not None:
            self._settle(task, None)
        elif said is not None:
            refusal = self._refusal(task, said, guard)
            if refusal is not None:
                return refusal
            self._settle(task, None)
        elif self._shift.stop or minutes_are_over(self._shift, self._now):
            self._give_back(task, "the shift ended while it was under way")
        elif self._is_late(task):
            self._settle(task, "timeout")
        elif self._shift.told < MOST_TOLD:
            self._note(told=self._shift.told + 1)
            if self._shift.handed_out:
                return report_first(task, self._config)
            task = begun(self._project, task, self._config, self._now)
            return self._handed_out(task)
        elif self._shift.handed_out:
            self._settle(task, "no_report")
        else:
            self._give_back(task, "the session did not begin with it")
            self._note(told=0, unreported=self._shift.unreported + 1)
        return None

    def _give_back(self, task: Task, why: str) -> None:
        if not give_back(self._project, task, why, self._now):
            self._settle(task, None)  # its cancel has just come

    def _handed_out(self, task: Task, graph: Graph | None = None) -> str:
        """The task for the session; or the command that runs its checks first and then gives it."""
        repository = repository_of(self._project.root) if task.runs[-1].before else None
        if unknown_before(self._project, repository, task, self._config):
            return check_first(task, self._shift)
        text = task_text(self._project, task, self._config, self._now, graph, first=False)
        hand_out(self._project, task)
        return text

    def _refusal(self, task: Task, said: RunReport, guard: Guard) -> str | None:
        """Why a task that is said to be done may not end yet; None when it may."""
        if said.report.outcome not in _CLAIMS or said.report.subtasks:
            return None
        reason = guard(task, self._config) or self._unchecked(task, said)
        if reason is None:
            return None
        if not said.checks:
            return f"{reason} Then end your turn again."
        withdraw_report(self._project, task)
        return f"{reason} Then say `loop done {task.id}` again: the checks have to see it."

    def _unchecked(self, task: Task, said: RunReport) -> str | None:
        """That files were changed after the checks; after some refusals only a warning says so."""
        if not said.checks or self._shift.told >= MOST_TOLD:
            return None
        repository = repository_of(self._project.root) if task.runs[-1].before else None
        if not changed_since(repository, said, snapshot_after(self._project, task, self._config)):
            return None
        self._note(told=self._shift.told + 1)
        return "Files were changed after they had been checked. End with them as they are."

    def _settle(self, task: Task, ended_by: str | None) -> None:
        """Ends the run of the task at hand: `ended_by` or, with None, by its report or a cancel."""
        if ended_by is not None:
            end_in_session(self._project, task, ended_by)
        finished = finish(self._project, task, self._config, self._now)
        if finished.result is not None and read_pause(self._project) is not None:
            from loop.actions.held import lift_when_through  # seldom, and slow to come

            lift_when_through(self._project, self._now)
        missing = self._shift.unreported + 1 if ended_by == "no_report" else 0
        # That nothing is at hand any more needs no writing: the run is settled, which all can see.
        if (missing, 0) != (self._shift.unreported, self._shift.told):
            self._note(told=0, unreported=missing)

    def _note(self, **changes: object) -> None:
        """Writes down how far the shift is; what others asked of it meanwhile stays."""
        with transition(self._project) as t:
            current = read_shift(self._project)
            if current is None or current.session != self._shift.session:
                return
            self._shift = msgspec.structs.replace(current, **changes)
            put_shift(t, self._shift)

    def _is_late(self, task: Task) -> bool:
        minutes = task.timeout_minutes or self._config.limits.task_timeout_minutes
        return self._now - task.runs[-1].started > timedelta(minutes=minutes)

    def _held(self) -> str | None:
        pause = read_pause(self._project)
        if pause is None or pause.by == "worker":
            return None
        return f"the queue is paused ({pause.reason}); `loop resume` lifts it"

    def _not_allowed(self) -> str | None:
        """What somebody else than the people here wants done: a task, or commands as checks."""
        try:
            if commands_of(self._config):
                from loop.builder.permissions import check_command  # a hook without has no use

                check_command(self._project, self._config)
            if unseen(self._project) is None:
                from loop.actions.ready import check_brought

                check_brought(self._project)
        except NotReady as error:
            return str(error)
        return None

    def _not_free(self) -> Answer:
        """A run of somebody else goes on, or what was left of one has to be dealt with."""
        from loop.actions.recover import running_ids

        others = ", ".join(running_ids(self._project)) or "something else"
        if self._shift.told < MOST_TOLD:
            self._note(told=self._shift.told + 1)
            return Answer(
                block=f"The queue is not free yet (task {others} is being worked on). Run "
                f"`loop next --claim --session {self._shift.session}`: it waits and gives you the "
                "next task. Then carry that out."
            )
        return self._over(f"the queue was not free (task {others} is being worked on)")

    def _nothing_left(self, left: Left) -> str:
        if not left.any:
            open_ones = questions(self._project, self._shift.since)
            return f"all {'other ' if open_ones else ''}tasks have ended"
        return f"nothing that is left can run: {left_over(left.blocked, left.waiting)}"

    def _over(self, why: str) -> Answer:
        remove_binding(self._project, self._shift)
        return Answer(over=over_words(self._project, self._shift, why))
