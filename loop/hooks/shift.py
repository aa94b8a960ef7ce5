"""What the hooks of a person's session do when the queue is bound to it.

They are Stop, StopFailure (an error of the API ended the turn) and SessionEnd.

Owns: which stops count, and the answer. What a stop comes to is decided in
actions/shift/settle.py; the README guard's judgement is in guard.py.

Invariants: a session that is not bound is never touched; work in the background, or a command of
ours that was typed meanwhile, lets a stop pass without a word; trouble lets it pass with one line,
which the person at the bound session sees. Nothing here starts Claude Code.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from loop.actions.shift.over import end_shift, over_words
from loop.actions.shift.settle import Answer, settle_stop
from loop.actions.shift.typed_ahead import typed_ahead
from loop.builder.session import is_alive, is_elsewhere
from loop.core.config import Config
from loop.core.task import Task
from loop.core.task_id import stem
from loop.errors import LoopError
from loop.store.paths import Project
from loop.store.shift import Shift, read_shift
from loop.store.timeline import size_of

_GIT_S = 12.0


def answer(root: str, given: dict[str, Any], began_s: float) -> dict[str, Any] | None:
    """What Claude Code is answered on an event of a session; None lets it pass.

    `began_s` is when the hook began, by the monotonic clock.

    Raises:
        LoopError: something is wrong with the binding, or what ends a shift can't be done; it
            passes then.
    """
    project = Project(Path(root))
    session = given.get("session_id")
    if not isinstance(session, str) or not session:
        raise LoopError("the hook's input names no session")
    try:
        shift = read_shift(project)
    except LoopError as error:
        raise LoopError(f".ai/shift.json is no binding ({error}); `loop stop` removes it") from None
    if shift is None or shift.session != session:
        return None
    if is_elsewhere(shift, os.environ) and is_alive(shift):
        return None  # the same session, opened once more beside the bound one
    known = size_of(project.timeline)
    try:
        return _at_event(project, shift, given, datetime.now(UTC), began_s)
    finally:
        if size_of(project.timeline) != known:
            _notify(project)


def _at_event(
    project: Project, shift: Shift, given: dict[str, Any], now: datetime, began_s: float
) -> dict[str, Any] | None:
    event = given.get("hook_event_name")
    if event == "SessionEnd":
        end_shift(project, shift, now)
        return None
    if event not in ("Stop", "StopFailure") or given.get("background_tasks"):
        return None
    if event == "StopFailure" and given.get("agent_id"):
        return None  # a sub-agent's turn: the session itself goes on
    if not is_alive(shift):
        return _stale(project, shift, now)
    if event == "StopFailure":
        from loop.actions.shift.cut import cut_shift

        cut_shift(project, shift.session, _word(given, "error") or "unknown", _words(given), now)
        return None  # Claude Code ignores what is answered
    transcript = _word(given, "transcript_path") or None
    if typed_ahead(transcript, shift.since):
        return None  # it goes first, and its own stop goes on from here
    try:
        said = settle_stop(
            project,
            shift.session,
            now,
            lambda task, config: _guarded(project, task, config),
            transcript,
            began_s=began_s,
        )
    except LoopError as error:  # nobody sees stderr there, and the session would just stand still
        why = " ".join(str(error).split())
        return {"systemMessage": f"loop: the shift waits: {why}. Mend that, then /loop:run goes on"}
    return _data(said)


def _words(given: dict[str, Any]) -> str:
    """What Claude Code says of an API error."""
    return _word(given, "last_assistant_message") or _word(given, "error_details")


def _word(given: dict[str, Any], name: str) -> str:
    value = given.get(name)
    return value if isinstance(value, str) else ""


def _notify(project: Project) -> None:
    """Has people told what has happened, by a process that nobody waits for."""
    from loop.actions.notify import send_due_later

    send_due_later(project, os.environ)


def _stale(project: Project, shift: Shift, now: datetime) -> dict[str, Any]:
    """The session was resumed in another process: what was bound is that one's no more."""
    end_shift(project, shift, now)
    why = "its process had ended; /loop:run begins another"
    return {"systemMessage": over_words(project, shift, why)}


def _guarded(project: Project, task: Task, config: Config) -> str | None:
    """Why the task may not end yet; None lets it end. Trouble lets it end, with a warning."""
    before = task.runs[-1].before
    if not config.readme_guard or before is None:
        return None
    from loop.hooks.guard import Place, note_trouble, refusal

    place = Place(project.root, stem(task.id), task.runs[-1].uuid)
    try:
        return refusal(place, before, max_file_mb=config.checkpoint.max_file_mb, all_git_s=_GIT_S)
    except (LoopError, OSError, ValueError) as error:
        note_trouble(place, " ".join(str(error).split())[:300])
        return None


def _data(said: Answer) -> dict[str, Any] | None:
    if said.block is not None:
        return {"decision": "block", "reason": said.block}
    return {"systemMessage": said.over} if said.over is not None else None
