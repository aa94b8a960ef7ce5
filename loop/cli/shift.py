"""The shift, from inside a session: claim, done, fail, ask, split, note, stop.

What the session's Bash tool calls. From a terminal, done and fail end a waiting task by hand.
"""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any, Literal

from loop.cli.parser import Command, number, whole

if TYPE_CHECKING:
    from loop.core.task import Task
    from loop.store.paths import Project


def claim_arguments(parser: ArgumentParser) -> None:
    """The arguments of `loop next`."""
    parser.add_argument(
        "--claim", action="store_true", help="start a shift: this session works the queue"
    )
    parser.add_argument(
        "--session", metavar="ID", help="the session's id; without it, that of the environment"
    )
    parser.add_argument(
        "--max-iterations", metavar="N", type=whole(1), help="end the shift after so many tasks"
    )
    parser.add_argument(
        "--max-minutes",
        metavar="M",
        type=number(0, more_than=True),
        help="end it at the first stop after so many minutes",
    )
    parser.add_argument(
        "--max-usd",
        metavar="X",
        type=number(0, more_than=True),
        help="end it when it may have cost so much, counted at the highest list prices",
    )


def claim(given: Namespace) -> int:
    """Binds the session that calls and prints its task; 1 when there is none."""
    from loop.actions.shift.begin import begin
    from loop.builder.session import session_of, session_process, works_at
    from loop.cli.place import project_of, utc_now
    from loop.cli.printing import say, write, write_json
    from loop.core.task import task_dict
    from loop.errors import LoopError
    from loop.store.shift import Limits

    project = project_of(given)
    if os.environ.get("LOOP_RUN"):
        raise LoopError("this is a run of the queue itself: it can't start a shift")
    session = session_of(os.environ, given.session)
    process = session_process(os.environ, os.getpid()) if session else None
    if session is None or process is None:
        raise LoopError("no session of Claude Code calls this: use /loop:run in one")
    if session_of(os.environ) not in (None, session):
        raise LoopError(f"{session} is not the session that calls this: leave --session out")
    if not works_at(process, project.root):
        raise LoopError(
            f"this session was started elsewhere, so its Stop hook does not see {project.root}: "
            "start Claude Code there"
        )
    limits = Limits(
        max_iterations=given.max_iterations,
        max_minutes=given.max_minutes,
        max_usd=given.max_usd,
    )
    begun = begin(project, session, process, limits, utc_now())
    if isinstance(begun, str):
        if given.json:
            write_json({"next": None, "reason": begun})
        else:
            say(begun)
        return 1
    if given.json:
        write_json({"next": task_dict(begun.task), "text": begun.text, "note": begun.note})
        return 0
    write(f"({begun.note})\n\n" if begun.note else "")
    write(begun.text)
    return 0


def _id_first(parser: ArgumentParser) -> None:
    parser.add_argument(
        "task_id", metavar="ID", nargs="?", help="the task; without it, the one at hand"
    )


def _done_arguments(parser: ArgumentParser) -> None:
    _id_first(parser)
    parser.add_argument("--summary", metavar="TEXT", default="", help="what was done")
    parser.add_argument("--notes", metavar="TEXT", help="what later tasks must know")
    parser.add_argument(
        "--no-change", action="store_true", help="nothing had to be changed, as the summary says"
    )


def done(given: Namespace) -> int:
    """Says that a task is done; 1 when its checks do not let it."""
    from loop.actions.shift.report import done as report_done
    from loop.cli.printing import say, write, write_json

    project, task, now = _about(given)
    if task is None:
        return _by_hand(given, "success", given.summary.strip() or None, "; nothing was checked")
    said = report_done(
        project,
        task,
        summary=given.summary,
        notes=given.notes,
        no_change=given.no_change,
        now=now,
    )
    lines = [
        _checked(verdict.data() | {"failed": verdict.failed}) for verdict in said.checks.verdicts
    ]
    if given.json:
        write_json({"id": task.id, "accepted": said.accepted, "checks": lines})
        return 0 if said.accepted else 1
    for line in lines:
        say(line)
    if said.accepted:
        say(f"✓ {task.id} is noted as done; end your turn, and it is settled")
        return 0
    verdict = said.checks.verdict
    if verdict is not None:
        write(f"{verdict.checked.tail}\n")
    say(f"✗ {task.id} is not accepted: mend it and say `loop done` again, or `loop fail {task.id}`")
    return 1


def _checked(verdict: dict[str, Any]) -> str:
    how = "took too long" if verdict["exit"] is None else f"exit {verdict['exit']}"
    before = {"passed": ", passed before", "failed": ", failed before, too"}
    mark = "✓" if verdict["exit"] == 0 else "✗"
    return f"{mark} {verdict['command']}: {how}{before.get(verdict['baseline'], '')}"


def _fail_arguments(parser: ArgumentParser) -> None:
    _id_first(parser)
    parser.add_argument(
        "--reason", metavar="TEXT", required=True, help="why it can't be done, and what was tried"
    )


def fail(given: Namespace) -> int:
    """Says that a task has failed."""
    from loop.actions.shift.report import fail as report_failed
    from loop.errors import BadInput

    if not given.reason.strip():
        raise BadInput("--reason", "say why it can't be done")
    project, task, _ = _about(given)
    if task is None:
        return _by_hand(given, "failure", given.reason)
    report_failed(project, task, given.reason)
    return _told(given, task.id, f"✗ {task.id} is noted as failed; end your turn")


def _by_hand(
    given: Namespace, status: Literal["success", "failure"], words: str | None, more: str = ""
) -> int:
    """Ends a waiting task, or one that has ended otherwise, on a person's word."""
    from loop.actions.change import end_by_hand
    from loop.cli.place import project_of, utc_now

    now, notes = utc_now(), getattr(given, "notes", None)
    located = end_by_hand(project_of(given), given.task_id, status, words, "user", now, notes)
    task_id = located.task.id
    told = f"{'✓' if status == 'success' else '✗'} {task_id} ended by hand: {status}{more}"
    if located.result is not None and located.result.completed_at != now:
        told = f"{task_id} is {status} already; nothing was changed"
    return _told(given, task_id, told)


def _ask_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "words", metavar="QUESTION", nargs="+", help="the whole question; the id may stand before"
    )
    parser.add_argument(
        "--option", metavar="TEXT", action="append", default=[], help="one way; may be repeated"
    )


def ask(given: Namespace) -> int:
    """Parks the task at hand with a question for a person."""
    from loop.actions.shift.report import ask as put_question

    given.task_id, question = _id_and_text(given.words)
    project, task, _ = _about(given)
    put_question(project, _needed(task, given), question, given.option)
    return _told(
        given, given.task_id, f"? {_needed(task, given).id} asks; end your turn, others go on"
    )


def _split_arguments(parser: ArgumentParser) -> None:
    _id_first(parser)
    parser.add_argument(
        "--file",
        metavar="F",
        required=True,
        help="a JSON list of {title, instructions, acceptance_criteria}; - reads it from stdin",
    )


def split(given: Namespace) -> int:
    """Splits the task at hand into subtasks."""
    from loop.actions.shift.report import split as put_parts
    from loop.cli.task_fields import text_of
    from loop.store.words import used_up

    project, task, now = _about(given)
    parts = put_parts(project, _needed(task, given), text_of(given.file).encode(), now)
    used_up(project, given.file)
    return _told(given, given.task_id, f"✓ split into {parts} subtasks; end your turn")


def _note_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "words",
        metavar="TEXT",
        nargs="+",
        help="what the next one should know; the task's id before it, if it is not the one at hand",
    )


def note(given: Namespace) -> int:
    """Adds a note to a task and to the handoff log."""
    from loop.actions.shift.report import note as put_note
    from loop.actions.shift.report import task_at_hand
    from loop.cli.place import project_of, utc_now

    task_id, text = _id_and_text(given.words)
    project, now = project_of(given), utc_now()
    if task_id is None:
        at_hand = task_at_hand(project, None, os.environ, now)
        task_id = at_hand.id if at_hand else ""
    task = put_note(project, task_id, text, now)
    return _told(given, task.id, f"· noted for {task.id}")


def stop(given: Namespace) -> int:
    """Ends the shift at its session's next stop."""
    from loop.actions.shift.over import stop as ask_to_stop
    from loop.cli.place import project_of, utc_now
    from loop.cli.printing import say, write_json

    shift, ended = ask_to_stop(project_of(given), utc_now())
    if given.json:
        write_json({"shift": shift is not None, "ended": ended})
    elif ended:
        say("the session that was bound is gone; the queue is free")
    elif shift is None:
        say("there is no shift")
    else:
        at = f"; task {shift.task} goes back to the queue unless it is done" if shift.task else ""
        say(f"· the shift ends at its session's next stop (process {shift.pid}){at}")
    return 0


def _about(given: Namespace) -> tuple[Project, Task | None, Any]:
    from loop.actions.shift.report import task_at_hand
    from loop.cli.place import project_of, utc_now

    project, now = project_of(given), utc_now()
    return project, task_at_hand(project, given.task_id, os.environ, now), now


def _needed(task: Task | None, given: Namespace) -> Task:
    from loop.errors import WrongState

    if task is None:
        raise WrongState(
            f"task {given.task_id} is not the one at hand in a shift; only that asks or is split"
        )
    return task


def _id_and_text(words: list[str]) -> tuple[str | None, str]:
    """The id, if the first of several words is one, and the text."""
    import re

    if len(words) > 1 and re.fullmatch(r"[0-9]+(?:\.[0-9]+)*", words[0], re.ASCII):
        return words[0], " ".join(words[1:])
    return None, " ".join(words)


def _told(given: Namespace, task_id: str | None, line: str) -> int:
    from loop.cli.printing import say, write_json

    if given.json:
        write_json({"id": task_id, "said": line})
    else:
        say(line)
    return 0


COMMANDS = (
    Command(
        "done",
        "In a shift, which /loop:run begins",
        "say that the task at hand is done",
        "Say that the task at hand is done. Its checks are run first; where one that passed\n"
        "before fails now, it is not accepted. From a terminal, with an id: end a waiting task\n"
        "by hand, as done.",
        _done_arguments,
        done,
    ),
    Command(
        "fail",
        "In a shift, which /loop:run begins",
        "say that the task at hand has failed",
        "Say that the task at hand can't be done. From a terminal, with an id: end a waiting\n"
        "task by hand, as failed.",
        _fail_arguments,
        fail,
    ),
    Command(
        "ask",
        "In a shift, which /loop:run begins",
        "park the task at hand with a question",
        "Park the task at hand with a question for a person; the shift goes on with the next.\n"
        "`loop requeue ID ANSWER` answers it.",
        _ask_arguments,
        ask,
    ),
    Command(
        "split",
        "In a shift, which /loop:run begins",
        "split the task at hand into subtasks",
        "Split the task at hand into subtasks, which run before it ends with the last of them.",
        _split_arguments,
        split,
    ),
    Command(
        "note",
        "In a shift, which /loop:run begins",
        "leave a note for the next one",
        "Add a note to a task that runs or waits, and to the handoff log.",
        _note_arguments,
        note,
    ),
    Command(
        "stop",
        "In a shift, which /loop:run begins",
        "have the session end the shift at its next stop",
        "End the shift at its session's next stop. The task at hand goes back to the queue unless\n"
        "it was said how it ended; the next one is told what was half done.",
        lambda parser: None,
        stop,
    ),
)
