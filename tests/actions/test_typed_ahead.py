"""What a person typed while the session works, as its transcript tells."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from loop.actions.shift.typed_ahead import typed_ahead

_SINCE = datetime(2026, 1, 1, tzinfo=UTC)
_ADD, _STOP, _WORDS = (("enqueue", words) for words in ("/loop:add x", "/loop:stop", "Look here"))


def _line(operation: str, content: str | None = None, at: str = "2026-01-01T00:00:01.000Z") -> str:
    entry = {"type": "queue-operation", "operation": operation, "timestamp": at}
    return json.dumps(entry if content is None else entry | {"content": content})


@pytest.mark.parametrize(
    ("operations", "waits"),
    [
        ([], False),
        ([_STOP], True),
        ([_WORDS], False),
        ([_STOP, ("dequeue", None)], False),
        ([_ADD, _STOP, ("dequeue", None)], True),
        ([_ADD, _STOP, ("dequeue", None), ("dequeue", None)], False),
        ([_WORDS, _STOP, ("remove", "Look here")], True),
        ([_WORDS, _STOP, ("remove", "/loop:stop")], False),
        ([_STOP, ("popAll", "/loop:stop")], False),
        ([_STOP, ("remove", None)], False),
        ([_STOP, ("of another version", None)], False),
    ],
)
def test_a_command_waits_until_it_is_taken_out(
    operations: list[tuple[str, str | None]], waits: bool, tmp_path: Path
) -> None:
    transcript = tmp_path / "t.jsonl"
    lines = [_line(*operation) for operation in operations]
    strange = ['{"type":"queue-operation"}', '["queue-operation"]', '"queue-operation" {', ""]
    transcript.write_text("\n".join(strange + lines + strange))
    assert typed_ahead(str(transcript), _SINCE) is waits


def test_what_was_typed_before_the_shift_counts_for_nothing(tmp_path: Path) -> None:
    transcript = tmp_path / "t.jsonl"
    transcript.write_text(_line("enqueue", "/loop:stop", "2025-12-31T23:59:59.000Z"))
    assert not typed_ahead(str(transcript), _SINCE)


@pytest.mark.parametrize("transcript", [None, "", "/no/such/file", "."])
def test_without_a_transcript_nothing_waits(transcript: str | None) -> None:
    assert not typed_ahead(transcript, _SINCE)
