"""What one run's stream of events says, gathered line by line. Pure: lines in, facts out.

The report is the last structured output that is not null, while the ending is the LAST result
line: with background work pending Claude Code prints a second result line whose report is null.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec

from loop.core.marker import question_in

_REPORT_TOOL = "StructuredOutput"
#: Enough of an answer to a refused call to tell why it was refused.
_REFUSAL_CHARACTERS = 500


@dataclass(slots=True)
class Ended:
    """The last result line of a run."""

    subtype: str = ""
    is_error: bool = False
    terminal_reason: str | None = None
    api_error_status: int | None = None
    #: such as `usage_limit_reached`
    api_error: str | None = None
    text: str = ""
    turns: int | None = None
    #: cumulative over the session, as Claude Code counts it
    session_cost_usd: float | None = None


@dataclass(slots=True)
class Transcript:
    """The facts of one run's stream."""

    #: lines of Claude Code itself that could be read
    lines: int = 0
    #: lines that were not JSON, or cut
    damaged: int = 0
    session_id: str | None = None
    claude_version: str | None = None
    ended: Ended | None = None
    report: dict[str, Any] | None = None
    #: the last report that was handed in, accepted or not
    report_given: dict[str, Any] | None = None
    #: from the marker to the end of its message; None without a marker
    question: str | None = None
    last_text: str = ""
    denials: list[dict[str, Any]] = field(default_factory=list)
    #: replies of the model in the main thread
    replies: int = 0
    #: the last thing the Builder did, in a few words
    last_action: str | None = None
    #: epoch second at which the account's limit ends; said on runs that succeed, too
    limit_reset: float | None = None
    #: what Claude Code calls the last error of the API, such as `billing_error`
    error: str | None = None
    _message_id: str | None = None
    #: what tools answered with an error, by the id of the call
    _refusals: dict[str, str] = field(default_factory=dict)

    def feed(self, line: bytes) -> None:
        """Takes in one line of the stream; lines of our own are passed over."""
        if not line.strip():
            return
        try:
            event = msgspec.json.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            self.damaged += 1
            return
        if not isinstance(event, dict) or event.get("type") == "loop":
            return
        self.lines += 1
        self.session_id = _text(event.get("session_id")) or self.session_id
        match event.get("type"):
            case "system":
                self.claude_version = _text(event.get("claude_code_version")) or self.claude_version
            case "assistant":
                self._assistant(event)
            case "user":
                self._answers(event)
            case "result":
                self._result(event)
            case "rate_limit_event":
                self._rate_limit(event.get("rate_limit_info"))

    def _assistant(self, event: dict[str, Any]) -> None:
        message = event.get("message")
        if event.get("parent_tool_use_id") or not isinstance(message, dict):
            return
        if message.get("model") == "<synthetic>":
            self.error = _text(event.get("error")) or self.error
            return
        if message.get("id") is None or message.get("id") != self._message_id:
            self.replies += 1
            self._message_id = message.get("id")
        content = message.get("content")
        for block in content if isinstance(content, list) else []:
            if not isinstance(block, dict):
                continue
            if block.get("type") == "text":
                self.last_text = _text(block.get("text")) or ""
                self.question = question_in(self.last_text) or self.question
                self.last_action = _short(self.last_text) or self.last_action
            elif block.get("type") == "tool_use":
                given = block.get("input")
                if block.get("name") == _REPORT_TOOL and isinstance(given, dict):
                    self.report_given = given
                self.last_action = _action(block)

    def _answers(self, event: dict[str, Any]) -> None:
        message = event.get("message")
        content = message.get("content") if isinstance(message, dict) else None
        for block in content if isinstance(content, list) else []:
            if isinstance(block, dict) and block.get("is_error") is True:
                call, words = _text(block.get("tool_use_id")), _text(block.get("content"))
                if call and words:
                    self._refusals[call] = words[:_REFUSAL_CHARACTERS]

    def _result(self, event: dict[str, Any]) -> None:
        report = event.get("structured_output")
        if isinstance(report, dict):
            self.report = report
        status = event.get("api_error_status")
        cost = event.get("total_cost_usd")
        turns = event.get("num_turns")
        self.ended = Ended(
            subtype=_text(event.get("subtype")) or "",
            is_error=event.get("is_error") is True,
            terminal_reason=_text(event.get("terminal_reason")),
            api_error_status=status if isinstance(status, int) else None,
            api_error=_text(event.get("api_error")),
            text=_text(event.get("result")) or "",
            turns=turns if isinstance(turns, int) else None,
            session_cost_usd=float(cost) if isinstance(cost, int | float) else None,
        )
        denials = event.get("permission_denials")
        self.denials = [
            self._with_answer(d)
            for d in (denials if isinstance(denials, list) else [])
            if isinstance(d, dict) and d.get("tool_name") != _REPORT_TOOL
        ]

    def _with_answer(self, denial: dict[str, Any]) -> dict[str, Any]:
        words = self._refusals.get(_text(denial.get("tool_use_id")) or "")
        return denial if words is None else denial | {"answer": words}

    def _rate_limit(self, info: object) -> None:
        reset = info.get("resetsAt") if isinstance(info, dict) else None
        if isinstance(reset, int | float):
            self.limit_reset = float(reset)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _short(text: str) -> str | None:
    words = " ".join(text.split())
    return words if len(words) <= 80 else words[:79].rstrip() + "…"


def _action(block: dict[str, Any]) -> str | None:
    name = _text(block.get("name")) or "tool"
    if name == _REPORT_TOOL:
        return "gives its report"
    given = block.get("input")
    if not isinstance(given, dict):
        return name
    for key in ("file_path", "command", "pattern", "path", "description", "notebook_path"):
        if isinstance(given.get(key), str):
            return _short(f"{name} {given[key]}")
    return name
