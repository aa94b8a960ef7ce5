"""The raw stream of Claude Code, as entries that a person can read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from loop.cli.view import Cell, View, cell
from loop.cli.wording import counted, dollars, one_line

_LINE_CHARACTERS = 200
_REPORT_TOOL = "StructuredOutput"


class Entry(NamedTuple):
    """Something that was said or done.

    `kind`: `run` (it starts), `says`, `tool`, `result` (of a tool), `end`, `note`. `ok` is None
    where nothing can fail. `inner`: a subagent did it.
    """

    kind: str
    text: str
    ok: bool | None = None
    inner: bool = False


def entries(line: bytes) -> Iterator[Entry]:
    """What a line of a log says; nothing for most lines of the machinery."""
    if not line.strip():
        return
    try:
        event = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        event = None
    if isinstance(event, dict):
        yield from _entries_of(event)
    else:
        yield Entry("note", f"a line that can't be read ({counted(len(line), 'byte')})", False)


def _entries_of(event: dict[str, Any]) -> Iterator[Entry]:
    inner = bool(event.get("parent_tool_use_id"))
    match event.get("type"):
        case "loop":
            yield from _ours(event)
        case "system" if event.get("subtype") == "init":
            words = f"Claude Code {event.get('claude_code_version', '?')}"
            yield Entry("note", f"{words}, model {event.get('model', '?')}")
        case "assistant":
            for block in _blocks(event):
                yield from _said(block, inner)
        case "user":
            for block in _blocks(event):
                if block.get("type") == "tool_result":
                    yield _tool_result(block, inner)
        case "result":
            yield _ended(event)


def _blocks(event: dict[str, Any]) -> list[dict[str, Any]]:
    message = event.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [b for b in content if isinstance(b, dict)] if isinstance(content, list) else []


def _ours(event: dict[str, Any]) -> Iterator[Entry]:
    match event.get("event"):
        case "started":
            yield Entry("run", f"run {event.get('number') or event.get('run', '?')}")
        case "void":
            yield Entry("note", "the run was called off before it started")
        case "ended" if event.get("ended_by"):
            yield Entry("note", f"ended from outside: {event['ended_by']}", False)


def _said(block: dict[str, Any], inner: bool) -> Iterator[Entry]:
    if block.get("type") == "text" and str(block.get("text", "")).strip():
        yield Entry("says", str(block["text"]).strip(), inner=inner)
    elif block.get("type") == "tool_use":
        yield Entry("tool", _call(block), inner=inner)


def _call(block: dict[str, Any]) -> str:
    name = str(block.get("name", "tool"))
    given = block.get("input")
    if not isinstance(given, dict):
        return name
    if name == _REPORT_TOOL:
        return f"report: {given.get('outcome', '?')}, {given.get('summary', '')}"
    for key in ("file_path", "command", "pattern", "path", "notebook_path", "skill", "description"):
        if isinstance(given.get(key), str):
            return f"{name} {given[key]}"
    return name


def _tool_result(block: dict[str, Any], inner: bool) -> Entry:
    content = block.get("content")
    if isinstance(content, list):
        texts = [str(b.get("text", "")) for b in content if isinstance(b, dict)]
        content = "\n".join(texts)
    lines = [line for line in str(content or "").splitlines() if line.strip()]
    text = lines[0].strip() if lines else "done"
    if len(lines) > 1:
        text = f"{one_line(text, _LINE_CHARACTERS)} (+ {counted(len(lines) - 1, 'line')})"
    return Entry("result", text, block.get("is_error") is not True, inner)


def _ended(event: dict[str, Any]) -> Entry:
    ok = event.get("subtype") == "success" and event.get("is_error") is not True
    words = [str(event.get("terminal_reason") or event.get("subtype") or "?")]
    if isinstance(event.get("num_turns"), int):
        words.append(counted(event["num_turns"], "turn"))
    words.append(dollars(event.get("total_cost_usd")))
    if not ok and event.get("result"):
        words.append(str(event["result"]))
    return Entry("end", " · ".join(words), ok)


def entry_view(entries: list[Entry]) -> View:
    """Entries as lines for people; a tool call and its result take one each."""
    view = View()
    for entry in entries:
        margin = 4 if entry.inner else 0
        text = one_line(entry.text, _LINE_CHARACTERS)
        mark = Cell("✗", "red") if entry.ok is False else Cell("✓", "green")
        match entry.kind:
            case "run":
                view.line(cell(f"── {text}", "bold"))
            case "says":
                view.paragraph(entry.text, indent=margin)
            case "tool":
                view.line(Cell("→ ", "cyan"), cell(text), indent=margin + 2)
            case "result":
                view.line(mark, " ", cell(text, "dim"), indent=margin + 4)
            case "end":
                view.line(mark, " ended: ", cell(text, "bold"))
            case _:
                view.line(cell(text, "dim" if entry.ok is None else "red"))
    return view
