"""The config.json of another system in the words of ours.

Owns: which key becomes which. Invariant: what the project has set itself is kept.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final, Literal

from loop.core.config import decode_config
from loop.errors import BadInput
from loop.setup import json_text

Outcome = Literal["set", "unchanged", "kept", "none", "refused"]

_SAME: Final = {
    "max_attempts_per_task": ("limits", "max_attempts"),
    "task_timeout_minutes": ("limits", "task_timeout_minutes"),
    "commit_prefix": ("commit_prefix",),
    "progress_max_lines": ("progress", "max_lines"),
    "compact_recent_progress_lines": ("context", "recent_lines"),
    "compact_relevant_progress_lines": ("context", "relevant_lines"),
}
_COMMANDS: Final = {
    "test_command": ("verify", "test_command"),
    "lint_command": ("verify", "lint_command"),
}
_SERVICES: Final = ("feishu", "dingtalk", "wecom", "serverchan")
_HERE: Final = {
    "context_compact": "the compact context is always made",
    "default_team_workflow": "roles are given task by task",
    "verify_before_done": "commands in `verify` always run",
}


@dataclass(frozen=True, slots=True)
class Setting:
    """What became of one key. `to` is our key; None when there is none."""

    key: str
    to: str | None
    #: `kept`: the project has a value of its own; `none`: no counterpart; `refused`: it is wrong
    outcome: Outcome
    note: str | None = None


def merged(text: str, other: dict[str, Any]) -> tuple[str, list[Setting]]:
    """Our settings, as text, with those of the other system put in, and what became of each.

    Raises:
        BadInput: our own settings can't be read; nothing can be put in.
    """
    try:
        ours = decode_config(text.encode())
        own = json_text.parse(text)
    except json_text.JsonProblem as problem:
        raise BadInput("", str(problem)) from None
    settings = []
    for key, path, value, note in _mapped(other):
        to = ".".join(path) or None
        if not path:
            settings.append(Setting(key, None, "none", note))
            continue
        try:
            alone = reduce(lambda inner, name: {name: inner}, reversed(path), value)
            decode_config(json.dumps(alone).encode())
        except BadInput as error:
            settings.append(Setting(key, to, "refused", error.problem))
            continue
        if _in_struct(ours, path) == value:
            settings.append(Setting(key, to, "unchanged", note))
        elif _in_dict(own, path) is not None:
            settings.append(Setting(key, to, "kept", "the project has set it itself"))
        else:
            text = json_text.set_value(text, path, value)
            settings.append(Setting(key, to, "set", note))
    return text, settings


def _mapped(other: dict[str, Any]) -> Iterator[tuple[str, tuple[str, ...], Any, str | None]]:
    """Key, path here (empty: none), value here, and a note."""
    for key, value in other.items():
        if value is None or value == "":
            continue
        if key in _SAME:
            yield key, _SAME[key], value, None
        elif key in _COMMANDS:
            if other.get("verify_before_done") is False:
                yield key, (), None, "not set: verify_before_done is off there"
            else:
                yield key, _COMMANDS[key], value, "runs once it is approved"
        elif key == "auto_commit" and isinstance(value, bool):
            mode = "commit" if value else "ref"
            note = None if value else "changes are kept in hidden refs, without a commit"
            yield key, ("checkpoint", "mode"), mode, note
        elif key == "notify_webhook":
            yield key, *_webhook(other, value)
        elif key == "notify_type" and other.get("notify_webhook"):
            continue
        else:
            yield key, (), None, _HERE.get(key, "no counterpart")


def _webhook(other: dict[str, Any], address: object) -> tuple[tuple[str, ...], Any, str | None]:
    service = other.get("notify_type") or _SERVICES[0]
    if service in _SERVICES:
        return ("notify", str(service)), address, None
    return (), None, f"notify_type is not one of {', '.join(_SERVICES)}"


def _in_struct(config: Any, path: tuple[str, ...]) -> Any:
    return reduce(getattr, path, config)


def _in_dict(own: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        own = own.get(name) if isinstance(own, dict) else None
    return own
