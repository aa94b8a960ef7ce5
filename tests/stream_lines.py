"""Lines of the stream of Claude Code, in the shape that the real one prints them."""

from __future__ import annotations

import json
from typing import Any

from loop.core.transcript import Transcript

SESSION = "e5bc1c1f-9526-4901-9586-8b0efba01798"


def init() -> dict[str, Any]:
    """The first line."""
    return {
        "type": "system", "subtype": "init", "cwd": "/p", "session_id": SESSION,
        "tools": ["Bash", "Edit"], "apiKeySource": "none", "claude_code_version": "2.1.332",
    }  # fmt: skip


def says(text: str, message: str = "msg_1", **more: Any) -> dict[str, Any]:
    """A text block of the model."""
    content = [{"type": "text", "text": text}]
    return _assistant(content, message, more)


def uses(tool: str, given: dict[str, Any], message: str = "msg_1", **more: Any) -> dict[str, Any]:
    """A tool call of the model."""
    return _assistant([{"type": "tool_use", "name": tool, "input": given}], message, more)


def _assistant(content: list[Any], message: str, more: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "assistant",
        "message": {
            "id": message, "model": "claude-opus-5-5", "role": "assistant", "content": content,
        },
        "parent_tool_use_id": None,
        "session_id": SESSION,
        **more,
    }  # fmt: skip


def synthetic(error: str, text: str = "An error") -> dict[str, Any]:
    """What Claude Code itself says about an error of the API."""
    line = says(text, "m", error=error, is_api_error_message=True)
    line["message"]["model"] = "<synthetic>"
    return line


def limit_event(status: str, resets_at: float | None = None) -> dict[str, Any]:
    """What the account's limit is, as a subscription is told."""
    info: dict[str, Any] = {"status": status, "rateLimitType": "five_hour"}
    if resets_at is not None:
        info["resetsAt"] = resets_at
    return {"type": "rate_limit_event", "rate_limit_info": info, "session_id": SESSION}


def result(**fields: Any) -> dict[str, Any]:
    """A result line; a plain success unless told otherwise."""
    return {
        "type": "result", "subtype": "success", "is_error": False, "num_turns": 3,
        "terminal_reason": "completed", "api_error_status": None, "result": "All done.",
        "session_id": SESSION, "total_cost_usd": 0.25, "permission_denials": [], **fields,
    }  # fmt: skip


def api_error(status: int | None, text: str, **fields: Any) -> dict[str, Any]:
    """The result line of an error of the API; note the subtype."""
    return result(
        is_error=True, terminal_reason="api_error", api_error_status=status, result=text,
        total_cost_usd=0, num_turns=1, **fields,
    )  # fmt: skip


def reported(outcome: str = "done", **fields: Any) -> dict[str, Any]:
    """The result line of a run that ended with its report."""
    report = {"outcome": outcome, "summary": "Did what was asked.", **fields}
    return result(structured_output=report, result=json.dumps(report))


def transcript(*lines: dict[str, Any]) -> Transcript:
    """What the lines say together."""
    facts = Transcript()
    for line in lines:
        facts.feed(json.dumps(line).encode())
    return facts
