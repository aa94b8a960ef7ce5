"""What an interactive session has cost, from above.

Claude Code tells no costs of a session while it goes on, only the tokens of each reply in its
transcript. Counted here at the highest list prices that there are, so that a limit is never
passed; a session with a cheaper model is stopped before it has spent that much.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

#: US dollars for a million tokens.
_PRICES = {
    "input_tokens": 15.0,
    "output_tokens": 75.0,
    "cache_read_input_tokens": 1.5,
    "cache_creation_input_tokens": 30.0,
}


def session_cost_usd(transcript: str | None, since: datetime) -> float | None:
    """US dollars at most since a moment, sub-agents included; None when it can't be read."""
    if not transcript:
        return None
    path = Path(transcript)
    try:
        files = [path, *path.with_suffix("").glob("**/*.jsonl")]
        seen: dict[str, float] = {}
        for file in files:
            for entry in _replies(file):
                if datetime.fromisoformat(str(entry.get("timestamp"))) >= since:
                    message = entry["message"]
                    seen[str(message.get("id"))] = _usd(message.get("usage"))
    except (OSError, ValueError, TypeError):
        return None
    return round(sum(seen.values()), 4)


def _replies(file: Path) -> Iterator[dict[str, Any]]:
    """The replies of the model; one comes as several lines, of which the last counts."""
    with file.open("rb") as lines:
        for line in lines:
            if b'"assistant"' not in line:
                continue
            try:
                entry = msgspec.json.decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError):
                continue
            is_reply = isinstance(entry, dict) and entry.get("type") == "assistant"
            if is_reply and isinstance(entry.get("message"), dict):
                yield entry


def _usd(usage: object) -> float:
    if not isinstance(usage, dict):
        return 0.0
    counts = ((usage.get(name), price) for name, price in _PRICES.items())
    return sum(n * price for n, price in counts if isinstance(n, int)) / 1e6
