"""Permission denials, each with the rule that would allow the call."""

from __future__ import annotations

import shlex
from typing import Any

import msgspec

from loop.core.result import Denial

_WIDE = {
    "git",
    "npm",
    "npx",
    "sf",
    "sfdx",
    "python",
    "python3",
    "pip",
    "uv",
    "yarn",
    "pnpm",
    "make",
}


def denials_of(raw: list[dict[str, Any]]) -> tuple[Denial, ...]:
    """The denials of a result line, the same call once."""
    found: dict[tuple[str, str], Denial] = {}
    for entry in raw:
        tool = str(entry.get("tool_name") or "tool")
        given = entry.get("tool_input")
        given = given if isinstance(given, dict) else {}
        shown = _shown(given)
        found.setdefault((tool, shown), Denial(tool=tool, input=shown, rule=rule_for(tool, given)))
    return tuple(found.values())


def _shown(given: dict[str, Any]) -> str:
    for key in ("command", "file_path", "notebook_path", "path", "pattern", "url"):
        if isinstance(given.get(key), str):
            return _cut(given[key])
    return _cut(msgspec.json.encode(given).decode()) if given else ""


def _cut(text: str) -> str:
    one_line = " ".join(text.split())
    return one_line if len(one_line) <= 200 else one_line[:199] + "…"


def rule_for(tool: str, given: dict[str, Any]) -> str:
    """The narrowest sensible permission rule for a call, in Claude Code's own spelling."""
    path = given.get("file_path") or given.get("notebook_path")
    if tool in ("Edit", "Write", "NotebookEdit") and isinstance(path, str):
        return f"Edit(/{path})" if path.startswith("/") else f"Edit({path})"
    command = given.get("command")
    if tool == "Bash" and isinstance(command, str):
        return f"Bash({_command_pattern(command)})"
    return tool


def _command_pattern(command: str) -> str:
    try:
        words = shlex.split(command, comments=False)
    except ValueError:
        words = command.split()
    if not words:
        return command
    kept = words[:2] if words[0] in _WIDE and len(words) > 1 else words[:1]
    rest = " *" if len(words) > len(kept) else ""
    return " ".join(kept) + rest
