"""A feature_list.json in our words: one feature becomes the draft of a task, or is refused.

Owns: what each field of a feature means here. Does not own: the order, ids, files.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final, Literal

from loop.core.checks import convert
from loop.core.task import Attempts, Name, Priority, Text, task_from
from loop.errors import BadInput
from loop.store.imports import Draft

_STATES: Final[dict[str, Literal["queued", "success", "failure"]]] = {
    "pending": "queued",
    "in_progress": "queued",
    "blocked": "queued",
    "done": "success",
    "failed": "failure",
}
_MAPPED: Final = frozenset(
    {
        "id", "title", "description", "status", "priority", "role", "parent_id", "notes",
        "acceptance_criteria", "dependencies", "max_attempts", "created_at", "completed_at",
    }
)  # fmt: skip
_TITLE_CHARACTERS = 300
_LOOK = "It was in progress when it was imported. Look at what is there before you go on."


def feature_id(feature: object) -> str:
    """The id of a feature.

    Raises:
        BadInput: it has none.
    """
    if not isinstance(feature, dict):
        raise BadInput("", "is no object, as in {...}")
    old_id = feature.get("id")
    if not isinstance(old_id, str) or not old_id.strip():
        raise BadInput("id", "is missing" if old_id is None else "give a text such as F001")
    if len(old_id) > 100 or not old_id.isprintable():
        raise BadInput("id", "is no name: at most 100 characters in one line")
    return old_id


def draft_of(feature: dict[str, Any], priority: int, now: datetime) -> tuple[Draft, list[str]]:
    """The draft of a task, and in words what of the feature was left out.

    `priority` is for a feature that has none of its own.

    Raises:
        BadInput: a field that decides what would be done is missing or wrong.
    """
    notes: list[str] = []
    title = _text(feature, "title")
    words = _text(feature, "description") or title
    if words is None:
        raise BadInput("description", "is missing, and so is the title: nothing is to be done")
    status = feature.get("status", "pending")
    if not isinstance(status, str) or status not in _STATES:
        raise BadInput("status", f"is not one of {', '.join(_STATES)}")
    fields: dict[str, Any] = {
        "instructions": [words],
        "title": title if title is None else _short(title),
        "author": "user",
        "priority": _priority(feature, priority, notes),
        "role": _optional(feature, "role", Name, notes),
        "acceptance_criteria": _optional(feature, "acceptance_criteria", list[Text], notes),
        "max_attempts": _optional(feature, "max_attempts", Attempts, notes),
        "notes": _noted(status, _optional(feature, "notes", Text, notes)),
        "note_to_run": _LOOK if status == "in_progress" else None,
        "created_at": _time(feature, "created_at", now).isoformat(),
        "imported_id": feature["id"],
    }
    fields = {name: value for name, value in fields.items() if value not in (None, [], "")}
    task_from(fields, "1", now)
    draft = Draft(
        old_id=feature["id"],
        fields=fields,
        state=_STATES[status],
        depends_on=_ids(feature, "dependencies"),
        parent=_text(feature, "parent_id"),
        completed_at=_time(feature, "completed_at", now),
    )
    return draft, notes


def unmapped(feature: dict[str, Any]) -> list[str]:
    """The names of a feature's fields that have no counterpart here."""
    return [name for name, value in feature.items() if name not in _MAPPED and value is not None]


def _text(feature: dict[str, Any], name: str) -> str | None:
    value = feature.get(name)
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    if not isinstance(value, str):
        raise BadInput(name, "give a text")
    return value.strip()


def _short(title: str) -> str:
    line = " ".join(title.split())
    return line if len(line) <= _TITLE_CHARACTERS else line[: _TITLE_CHARACTERS - 1] + "…"


def _optional(feature: dict[str, Any], name: str, kind: Any, notes: list[str]) -> Any:
    """A field that a task can do without: left out, and said so, where it is wrong."""
    value = feature.get(name)
    if value in (None, "", []):
        return None
    try:
        return convert(value, kind)
    except BadInput as error:
        notes.append(f"{name} was left out: {error.problem}")
        return None


def _priority(feature: dict[str, Any], other: int, notes: list[str]) -> Any:
    own = _optional(feature, "priority", Priority, notes)
    return other if own is None else own


def _noted(status: str, notes: str | None) -> str | None:
    if status != "blocked":
        return notes
    return f"It was blocked in the list it was imported from: {notes or 'no reason was given'}"


def _ids(feature: dict[str, Any], name: str) -> tuple[str, ...]:
    value = feature.get(name)
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
        raise BadInput(name, "give a list of ids")
    return tuple(dict.fromkeys(entry.strip() for entry in value))


def _time(feature: dict[str, Any], name: str, now: datetime) -> datetime:
    value = feature.get(name)
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else now
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return min(moment.astimezone(UTC), now)
    except (ValueError, OverflowError):
        return now
