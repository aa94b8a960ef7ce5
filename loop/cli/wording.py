"""Words for people: harmless, in one line, with short times.

Texts of tasks, models and files are not ours. What could steer a terminal in them is made visible
instead: control characters, and those that turn the direction of writing around.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

from loop.core.mask import masked

_STEERING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
#: Tools of the Architect, as they stand in errors, and what a person says instead.
_COMMANDS = {
    "list_tasks": "`loop status`",
    "get_task": "`loop status ID`",
    "edit_task": "`loop edit`",
    "requeue_task": "`loop requeue`",
    "cancel_task": "`loop cancel`",
    "resume_queue": "`loop resume`",
    "review_changes": "`loop review ID`",
    "undo_task": "`loop undo ID`",
}


def harmless(text: object) -> str:
    """The text with secrets hidden and what could steer a terminal made visible; lines are kept."""
    plain = masked(str(text)).replace("\r\n", "\n").expandtabs(4)
    return _STEERING.sub(lambda found: found[0].encode("unicode_escape").decode(), plain)


def one_line(text: object, most: int | None = None) -> str:
    """The text in one harmless line, cut at `most` characters; None cuts nothing."""
    words = harmless(" ".join(str(text).split()))
    return words if most is None or len(words) <= most else f"{words[: most - 1].rstrip()}…"


def for_person(message: str) -> str:
    """An error in the words of the command line."""
    message = message.removeprefix("task_id: ")
    for tool, command in _COMMANDS.items():
        message = message.replace(tool, command)
    return one_line(message)


def pause_reason(reason: object, by: object) -> str:
    """Why the queue is paused; empty when nobody said more than that it is."""
    return "" if reason == f"paused by the {by}" else str(reason)


def short_time(moment: object, now: datetime) -> str:
    """A time, or its RFC 3339 text, as a local one: `14:05`, or with its date if not of today."""
    try:
        when = moment if isinstance(moment, datetime) else datetime.fromisoformat(str(moment))
        local, today = when.astimezone(), now.astimezone()
    except (ValueError, OverflowError, OSError):
        return one_line(moment, 30)
    if local.date() == today.date():
        return f"{local:%H:%M}"
    return f"{local:%m-%d %H:%M}" if local.year == today.year else f"{local:%Y-%m-%d %H:%M}"


def span(seconds: object) -> str:
    """Seconds as `42 s`, `3 min 4 s` or `2 h 5 min`; a question mark for anything else."""
    if not isinstance(seconds, int | float):
        return "?"
    whole = int(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def dollars(cost: object) -> str:
    """US dollars; `cost unknown` when nobody knows."""
    return f"${cost:.2f}" if isinstance(cost, int | float) else "cost unknown"


def listed(names: Sequence[str], most: int = 5) -> str:
    """`41, 42 and 43`; of many the first few, and how many more there are."""
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def counted(count: object, noun: str) -> str:
    """`1 turn`, `2 turns`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
