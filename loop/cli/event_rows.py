"""Events of the timeline and the progress of a run, each as one line for people."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime

from loop.cli.view import Cell, View, cell, glyph
from loop.cli.wording import counted, dollars, listed, one_line, pause_reason, short_time, span

Fields = Mapping[str, object]
Row = tuple[Cell, ...]
_TEXT_CHARACTERS = 200
#: Seconds without a word from which on they are worth one.
_SILENT_S = 10


def event_row(event: Fields, now: datetime) -> Row:
    """When, who, about which task, and what happened."""
    name = str(event.get("event"))
    words = _WORDS.get(name, _unknown)(event)
    if event.get("reason") and name not in _TELL_REASON:
        words += f": {event['reason']}"
    if event.get("until"):
        words += f" (until {short_time(event['until'], now)})"
    when, actor = short_time(event.get("ts", ""), now), one_line(event.get("actor", ""), 9)
    task_id = one_line(event.get("task_id") or "", 40)
    return _row(when, actor, _glyph(name, event), task_id, cell(words))


def progress_row(progress: Fields) -> Row:
    """What the Builder did last, and how far it is."""
    return _row("", "", Cell(" "), "", cell(progress_words(progress), "dim"))


def hint_row(event: Fields) -> Row | None:
    """What to look at after a run that ended the task otherwise than well; None for the others."""
    task_id = event.get("task_id")
    if event.get("event") != "run_completed" or event.get("retry") or not task_id:
        return None
    shows = {"needs_input": "shows the question", "failure": "shows why"}.get(
        str(event.get("status"))
    )
    words = f"→ `loop status {task_id}` {shows}"
    return _row("", "", Cell(" "), "", cell(words, "dim")) if shows else None


def trouble_row(trouble: Fields) -> Row:
    """What keeps the worker from working."""
    return _row("", "", glyph("failure"), "", cell(trouble.get("reason"), "red"))


def _row(when: str, actor: str, mark: Cell, task_id: str, words: Cell) -> Row:
    """Cells of a set width, so that rows printed one by one stand under one another."""
    return (
        Cell(f"{when:<5}", "dim"),
        Cell(f"{actor:<9}"),
        mark,
        Cell(f"{task_id:<4}", "bold"),
        words,
    )


def rows_view(*rows: Row) -> View:
    """Such rows as a view."""
    return View().rows(rows, fixed=4)


def progress_words(progress: Fields) -> str:
    """How far a run is, in a few words."""
    if progress.get("driver") == "session":
        return f"in an interactive session · {span(progress.get('elapsed_s'))}"
    words = [counted(progress.get("turns", 0), "turn")]
    if progress.get("last_action"):
        words.append(one_line(progress["last_action"], _TEXT_CHARACTERS))
    words.append(span(progress.get("elapsed_s")))
    silent_s = progress.get("silent_s")
    if isinstance(silent_s, int | float) and silent_s >= _SILENT_S:
        words.append(f"silent {span(silent_s)}")
    return " · ".join(words)


def _glyph(name: str, event: Fields) -> Cell:
    if name == "run_completed":
        return glyph("queued" if event.get("retry") else event.get("status"))
    return glyph(_GLYPHS.get(name, "queued"))


_GLYPHS = {
    "run_started": "running",
    "run_recovered": "running",
    "queue_resumed": "running",
    "queue_paused": "paused",
    "task_blocked": "paused",
    "task_cancelled": "failure",
    "notification_failed": "failure",
    "escalated_to_user": "needs_input",
}


def _queued(event: Fields) -> str:
    instructions = event.get("instructions")
    first = instructions[0] if isinstance(instructions, list) and instructions else ""
    return f"queued: {one_line(event.get('title') or first, 72)}"


def _started(event: Fields) -> str:
    attempt = event.get("attempt", 1)
    again = "" if attempt == 1 else f", attempt {attempt}"
    return f"run {event.get('run', '?')} starts{again}"


def _completed(event: Fields) -> str:
    status, reason = event.get("status"), event.get("reason")
    if reason in ("by_hand", "subtasks"):  # no run, so no cost
        return f"{status}, {'by hand' if reason == 'by_hand' else 'by its subtasks'}"
    is_split = reason == "split"
    words = [str(status) if reason in (None, status) else f"{status}: {reason}"]
    words = ["split into subtasks"] if is_split else words
    words.append(dollars(event.get("cost_usd")))
    if event.get("commit_hash"):
        words.append(str(event["commit_hash"])[:9])
    if event.get("retry") and not is_split:
        words.append("tried again")
    return " · ".join(words)


def _requeued(event: Fields) -> str:
    guidance = event.get("guidance")
    return f"requeued: {one_line(guidance, _TEXT_CHARACTERS)}" if guidance else "requeued"


def _edited(event: Fields) -> str:
    fields = event.get("fields")
    return f"edited: {', '.join(map(str, fields))}" if isinstance(fields, list) else "edited"


def _paused(event: Fields) -> str:
    why = pause_reason(event.get("reason", ""), event.get("actor"))
    return f"queue paused: {one_line(why, _TEXT_CHARACTERS)}" if why else "queue paused"


def _recovered(event: Fields) -> str:
    return f"run taken over: {_FOUND.get(str(event.get('found')), event.get('found'))}"


_FOUND = {
    "launch": "it had not started yet",
    "wait": "it goes on",
    "judge": "it had ended meanwhile",
    "set_aside": "its record can't be read",
}


def _undone(event: Fields) -> str:
    paths = event.get("paths")
    return f"undone: {counted(len(paths), 'path')}" if isinstance(paths, list) else "undone"


def _reset(event: Fields) -> str:
    words = [f"{event.get('cleared', 0)} put away", f"{event.get('cancelled', 0)} cancelled"]
    put_back = event.get("put_back")
    words += [f"{listed(put_back)} put back"] if isinstance(put_back, list) and put_back else []
    words += [f"see {event['folder']}"] if event.get("folder") else []
    return f"queue reset{' (hard)' if event.get('hard') else ''}: {', '.join(words)}"


def _unknown(event: Fields) -> str:
    return str(event.get("event", "")).replace("_", " ")


_TELL_REASON = frozenset({"run_completed", "queue_paused"})
_WORDS: dict[str, Callable[[Fields], str]] = {
    "task_queued": _queued,
    "run_started": _started,
    "run_completed": _completed,
    "task_requeued": _requeued,
    "task_edited": _edited,
    "task_cancelled": lambda event: "cancelled",
    "task_blocked": lambda event: f"blocked by {event.get('cause')}",
    "escalated_to_user": lambda event: f"asks you: {event.get('question')}",
    "queue_paused": _paused,
    "queue_reset": _reset,
    "queue_resumed": lambda event: "queue resumed",
    "run_recovered": _recovered,
    "checkpoint_skipped": lambda event: "no checkpoint",
    "undone": _undone,
    "notification_failed": lambda event: f"notification by {event.get('service')} failed",
}
