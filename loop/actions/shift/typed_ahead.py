"""A command of ours that a person typed while the session works.

Claude Code keeps it until the turn has ended, which a shift's turn does not do before the shift is
over. Its transcript tells what waits: Claude Code 2.1.332 writes a line of type `queue-operation`
for each thing that is put in (`enqueue`, with its `content`), taken out as the next turn
(`dequeue`), or taken out otherwise (`remove`, `popAll`, with the `content` again or without).
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import msgspec

from loop.store.files import read_end

#: The end of a transcript that is looked at; what was typed before it was seen at stops before.
_MOST_BYTES = 4_000_000
_OURS = "/loop:"


def typed_ahead(transcript: str | None, since: datetime) -> bool:
    """Whether such a command waits; False when the transcript of the session does not say so."""
    waiting: list[str] = []
    for operation, content in _operations(transcript, since):
        if operation == "enqueue":
            waiting.append(content)
        elif operation == "dequeue":
            del waiting[:1]
        elif content in waiting:
            waiting.remove(content)
        else:
            waiting.clear()
    return any(words.startswith(_OURS) for words in waiting)


def _operations(transcript: str | None, since: datetime) -> Iterator[tuple[str, str]]:
    """What was put in and taken out since a moment, with its words."""
    if not transcript:
        return
    try:
        end = read_end(Path(transcript), _MOST_BYTES)
    except OSError:
        return
    for line in end.splitlines():
        if b'"queue-operation"' not in line:
            continue
        try:
            entry = msgspec.json.decode(line)
            ours = entry["type"] == "queue-operation"
            if ours and datetime.fromisoformat(entry["timestamp"]) >= since:
                yield entry["operation"], str(entry.get("content") or "")
        except (msgspec.DecodeError, UnicodeDecodeError, KeyError, TypeError, ValueError):
            continue  # not the line that it looks like
