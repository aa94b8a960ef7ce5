"""What the session says of the task at hand: done, failed, a question, a split, a note.

It is put on record only; the stop of the session settles it. The checks are run here, since a hook
has no time for them: a report of work whose checks are red after green is not accepted.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from loop.actions.before import snapshot_after
from loop.actions.in_session import verdict_data
from loop.actions.ready import check_brought
from loop.actions.verification import Verification, commands_of, remember, verify
from loop.builder.command import verification_environment
from loop.builder.permissions import check_command
from loop.builder.session import is_alive, is_elsewhere, session_of
from loop.builder.verify import end_bearers
from loop.core.checks import clean_text
from loop.core.config import Config
from loop.core.result import Report
from loop.core.split import parts_of, usable_parts
from loop.core.task import Task, decode_object, task_dict, title_of
from loop.core.task_id import checked_id
from loop.errors import BadInput, WrongState
from loop.git.command import repository_of
from loop.store import progress
from loop.store.journal import transition
from loop.store.paths import Project
from loop.store.progress import Handoff
from loop.store.project_files import load_config
from loop.store.run_files import cancel_reason
from loop.store.run_report import RunReport, write_report
from loop.store.scan import locate
from loop.store.shift import Shift, at_hand, living

_FEWEST_PARTS, _MOST_PARTS = 2, 100


def task_at_hand(
    project: Project, task_id: str | None, env: Mapping[str, str], now: datetime
) -> Task | None:
    """The task at hand that a command is about; None when it is about another, or there is none.

    Raises:
        WrongState: it comes from a session that is not the bound one, or names no task, or comes
            from one that has, or had, a run and is about what it has not at hand.
        NotFound: no such task.
        BadInput: it is not an id.
    """
    shift = living(project, is_alive)
    wanted = None if task_id is None else checked_id(task_id)
    if shift is not None and (wanted is None or wanted == shift.task):
        _check_caller(shift, env)
        task = at_hand(project, shift, now)
        if task is not None:
            return task
    if wanted is None:
        if shift is not None:
            raise WrongState("the shift has no task at hand")
        raise WrongState(
            "there is no shift, which /loop:run begins; without one, done, fail and note take an id"
        )
    _refuse_by_hand(project, wanted, shift, session_of(env), now)
    return None


def _refuse_by_hand(
    project: Project, task_id: str, shift: Shift | None, caller: str | None, now: datetime
) -> None:
    """A session says how the task at hand ended; any other, unchecked, is for people to end."""
    if caller is None:
        return
    instead = f"`loop edit {task_id} --status done` ends it, on a person's word"
    if shift is not None and caller == shift.session:
        at = f"{shift.task} is" if at_hand(project, shift, now) else "none is"
        raise WrongState(f"task {task_id} is not the one at hand ({at}); {instead}")
    located = locate(project, task_id, now)
    runs = located.task.runs
    if runs and runs[-1].driver == "session" and runs[-1].session == caller:
        waits = "it waits again, /loop:run takes it up" if located.state == "queued" else instead
        raise WrongState(f"the run of task {task_id} in this session is over; {waits}")


def _check_caller(shift: Shift, env: Mapping[str, str]) -> None:
    caller = session_of(env)
    if caller is not None and (caller != shift.session or is_elsewhere(shift, env)):
        raise WrongState(
            f"task {shift.task} is another session's (process {shift.pid}); leave it alone"
        )


@dataclass(frozen=True, slots=True)
class Accepted:
    """What became of a claim that a task is done."""

    accepted: bool
    checks: Verification


def done(
    project: Project,
    task: Task,
    *,
    summary: str,
    notes: str | None,
    no_change: bool,
    now: datetime,
) -> Accepted:
    """Puts on record that the task at hand is done, once its checks have been run.

    Not accepted, and nothing put on record, when one is red that was green before, or that the task
    itself names.

    Raises:
        NotReady: the checks may not be run.
        WrongState: it was cancelled meanwhile.
    """
    config = load_config(project)
    checks, checked = _check(project, task, config)
    if checks.stopped:
        raise WrongState(f"task {task.id} was cancelled while it was checked: end your turn")
    if any(verdict.failed for verdict in checks.verdicts):
        return Accepted(False, checks)
    report = Report(
        outcome="no_change_needed" if no_change else "done",
        summary=_words(summary, "summary") or f"Done: {title_of(task)}",
        notes=_words(notes, "notes"),
    )
    found = [verdict_data(verdict) for verdict in checks.verdicts]
    _write(project, task, report, checks=found, checked=checked)
    return Accepted(True, checks)


def fail(project: Project, task: Task, reason: str) -> None:
    """Puts on record that the task at hand has failed."""
    if not reason.strip():
        raise BadInput("reason", "is required: say why it can't be done")
    _write(project, task, Report(outcome="failed", summary=_words(reason, "reason") or ""))


def ask(project: Project, task: Task, question: str, options: list[str]) -> None:
    """Puts on record that the task at hand waits for an answer."""
    if not question.strip():
        raise BadInput("question", "is required: what must the person decide?")
    asked = _words(question, "question") or ""
    clean_text(options, "option")
    report = Report(outcome="needs_input", summary=asked, question=asked, options=options)
    _write(project, task, report)


def split(project: Project, task: Task, data: bytes, now: datetime) -> int:
    """Puts on record into which subtasks the task at hand is split; how many.

    Raises:
        BadInput: `data` is no list of subtasks, or ids go no deeper.
    """
    parts = decode_object(b'{"parts":' + (data.strip() or b"[]") + b"}")["parts"]
    if not isinstance(parts, list) or not _FEWEST_PARTS <= len(parts) <= _MOST_PARTS:
        raise BadInput("file", f"give a JSON list of {_FEWEST_PARTS} to {_MOST_PARTS} subtasks")
    clean_text(parts, "file")
    for number, part in enumerate(parts):
        if not isinstance(part, dict) or not usable_parts([part]):
            raise BadInput(f"file[{number}]", "needs instructions, and a title if it has one")
    parts_of(task, parts, now)
    report = Report(outcome="done", summary=f"Split into {len(parts)} subtasks.", subtasks=parts)
    _write(project, task, report)
    return len(parts)


def note(project: Project, task_id: str, text: str, now: datetime) -> Task:
    """Adds a note to a task that runs or waits, and to the handoff log.

    Raises:
        WrongState: it has ended.
    """
    words = _words(text, "text")
    if not words:
        raise BadInput("text", "is required: what should the next one know?")
    with transition(project) as t:
        located = locate(project, task_id, now)
        task = located.task
        folder = {"running": project.running, "queued": project.queue}.get(located.state)
        if folder is None:
            raise WrongState(f"task {task.id} has ended ({located.state}): its notes are fixed")
        task = msgspec.structs.replace(task, notes="\n".join(filter(None, (task.notes, words))))
        t.put(project.task_file(folder, task.id), task_dict(task))
        run = task.runs[-1] if located.state == "running" and task.runs else None
        entry = Handoff(
            session=(run.session if run else None) or "none",
            run=task.run,
            time=now,
            task_id=task.id,
            title=title_of(task),
            status="note",
            changes=words,
        )
        progress.append(t, entry, load_config(project).progress.max_lines)
    return task


def _words(text: str | None, name: str) -> str | None:
    clean_text(text or "", name)
    return (text or "").strip() or None


def _write(
    project: Project, task: Task, report: Report, *, checks: list[dict[str, Any]] | None = None,
    checked: str | None = None,
) -> None:  # fmt: skip
    uuid = task.runs[-1].uuid
    said = RunReport(run=uuid, report=report, checks=checks or [], checked=checked)
    write_report(project, task, said)


def _check(project: Project, task: Task, config: Config) -> tuple[Verification, str | None]:
    """What the checks say of the files as they are, and the snapshot of what they leave.

    Raises:
        NotReady: a commit brought the task, or the settings want run what was not approved.
    """
    if not (task.acceptance or commands_of(config)):
        return Verification(), None
    check_brought(project)
    check_command(project, config)
    end_bearers(task.runs[-1].uuid)  # what a call that was ended in the middle of this had started
    repository = repository_of(project.root) if task.runs[-1].before else None
    env = verification_environment(os.environ, project, task)

    def unwanted() -> bool:
        return cancel_reason(project, task.id) is not None

    found = verify(
        project, repository, task, snapshot_after(project, task, config), config, env, unwanted
    )
    # What the checks themselves have written was not changed after them.
    left = snapshot_after(project, task, config)
    own = {verdict.checked.command: verdict.checked.passed
           for verdict in found.verdicts if verdict.baseline != "none"}  # fmt: skip
    if left is not None and own and not found.stopped:
        remember(project, repository, task, own, left)
    return found, left
