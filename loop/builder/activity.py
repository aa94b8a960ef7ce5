"""What a growing log tells of the Builder at work, as far as the limits need it.

Owns: has the API answered, is a tool at work, is the result there. Does not own what the lines
mean for the outcome of the run, nor any clock.
Invariants: complete lines only, bounded memory whatever is written, never an error because of a
line's content.
"""

from __future__ import annotations

import json

#: A longer line is passed over; it still counts as a sign of life.
LONGEST_LINE_BYTES = 8 * 1024 * 1024

#: Types of lines that exist only because the API answered.
_REPLIES = frozenset({"assistant", "result", "rate_limit_event", "stream_event"})


class Activity:
    """What the lines so far have shown."""

    def __init__(self, longest_line_bytes: int = LONGEST_LINE_BYTES) -> None:
        #: Whether a line proves that the API answered.
        self.replied = False
        #: Whether a result stands at the end, with no further message behind it.
        self.has_result = False
        #: Ids of the tool calls without a result yet, those of subagents included.
        self.open_tools: set[str] = set()
        self._longest_line_bytes = longest_line_bytes
        self._begun = bytearray()
        self._is_too_long = False

    def feed(self, data: bytes) -> None:
        """Take in the next piece of the log; it may begin and end within a line."""
        *ends, rest = data.split(b"\n")
        for end in ends:
            self._extend(end)
            if not self._is_too_long:
                self._take(bytes(self._begun))
            self._begun.clear()
            self._is_too_long = False
        self._extend(rest)

    def _extend(self, piece: bytes) -> None:
        if len(self._begun) + len(piece) > self._longest_line_bytes:
            self._is_too_long = True
            self._begun.clear()
        if not self._is_too_long:
            self._begun += piece

    def _take(self, text: bytes) -> None:
        try:
            line = json.loads(text)
        except (ValueError, RecursionError):
            return
        kind = line.get("type") if isinstance(line, dict) else None
        if not isinstance(kind, str):
            return
        self.replied = self.replied or kind in _REPLIES
        if kind == "result":
            self.has_result = True
            self.open_tools.clear()
        elif kind in {"assistant", "user"}:
            self.has_result = False
            self._take_tools(line.get("message"))

    def _take_tools(self, message: object) -> None:
        content = message.get("content") if isinstance(message, dict) else None
        for block in content if isinstance(content, list) else ():
            if not isinstance(block, dict):
                continue
            begun, ended = block.get("id"), block.get("tool_use_id")
            if block.get("type") == "tool_use" and isinstance(begun, str):
                self.open_tools.add(begun)
            elif block.get("type") == "tool_result" and isinstance(ended, str):
                self.open_tools.discard(ended)
