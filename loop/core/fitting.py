"""Fitting plain data into a number of bytes of JSON: whole entries, texts cut at characters.

Owns: how a budget is shared, how a value is cut to its share. Does not own: which values there are.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

#: Less of a text than this says nothing.
_LEAST_TEXT_BYTES = 24


def json_bytes(value: Any) -> bytes:
    """The value as JSON on one line."""
    return msgspec.json.encode(value)


def item_size(item: Any) -> int:
    """Bytes that an entry of a list, or a field as a pair, takes with what parts it from others."""
    if isinstance(item, tuple):
        return len(json_bytes(item[0])) + len(json_bytes(item[1])) + 3
    return len(json_bytes(item)) + 2


def shares(needs: Sequence[int], budget: int) -> list[int]:
    """The budget shared in order: to each at most half of what is left, then what still is."""
    given = []
    for need in needs:
        share = min(need, budget // 2)
        given.append(share)
        budget -= share
    for n, need in enumerate(needs):
        more = min(need - given[n], budget)
        given[n] += more
        budget -= more
    return given


def _even(needs: Sequence[int], budget: int) -> list[int]:
    """The budget shared so that all who can't have what they need get the same."""
    given = [0] * len(needs)
    smallest_first = sorted(range(len(needs)), key=needs.__getitem__)
    for done, n in enumerate(smallest_first):
        given[n] = min(needs[n], budget // (len(needs) - done))
        budget -= given[n]
    return given


def fit(kind: str, value: Any, budget: int) -> tuple[Any, str]:
    """The value in at most `budget` bytes, and in words how much of it that is."""
    if kind == "task":
        kept = _fit_fields(value, budget)
        return kept, f"{len(kept)} of {len(value)} fields"
    if kind == "entry":
        entries = _fit_notes([value], budget + 4)
        return (entries[0], "in part") if entries else (None, "all of it")
    if kind == "whole":
        return {}, "all of it"
    if kind == "notes":
        entries = _fit_notes(value, budget)
        return entries, f"{len(entries)} of {len(value)}, notes"
    if kind == "tail":
        lines = _fit_list(value[::-1], budget)[::-1]
        return lines, f"{len(lines)} of {len(value)}"
    entries = _fit_list(value, budget)
    return entries, f"{len(entries)} of {len(value)}"


def _fit_list(entries: Sequence[Any], budget: int) -> list[Any]:
    """Entries from the first on; the one that does not fit is cut when it is a text."""
    budget -= 4
    kept: list[Any] = []
    for entry in entries:
        size = item_size(entry)
        if size > budget:
            if isinstance(entry, str) and (text := _fit_text(entry, budget - 2)):
                kept.append(text)
            break
        kept.append(entry)
        budget -= size
    return kept


def _fit_fields(task: Mapping[str, Any], budget: int) -> dict[str, Any]:
    names = list(task)
    overheads = [len(json_bytes(name)) + 3 for name in names]
    needs = [
        len(json_bytes(task[name])) + more for name, more in zip(names, overheads, strict=True)
    ]  # fmt: skip
    kept = {}
    for name, more, need, share in zip(
        names, overheads, needs, shares(needs, budget - 4), strict=True
    ):
        value = task[name]
        if need > share:
            if isinstance(value, str):
                value = _fit_text(value, share - more)
            else:
                value = _fit_list(value, share - more) if isinstance(value, list) else None
        if value or need <= share:
            kept[name] = value
    return kept


def _fit_notes(entries: Sequence[Mapping[str, Any]], budget: int) -> list[dict[str, Any]]:
    """Whole entries from the first on, and of their notes as much as fits, alike for all."""
    budget -= 4
    kept: list[dict[str, Any]] = []
    for entry in entries:
        bare = {k: v for k, v in entry.items() if k != "notes"}
        size = len(json_bytes(bare)) + 2
        if size > budget:
            break
        kept.append(bare)
        budget -= size
    notes = [str(entry.get("notes") or "") for entry in entries[: len(kept)]]
    key = len(b',"notes":')
    needs = [len(json_bytes(note)) + key if note else 0 for note in notes]
    for bare, note, share in zip(kept, notes, _even(needs, budget), strict=True):
        if note and (text := _fit_text(note, share - key)):
            bare["notes"] = text
    return kept


def _fit_text(text: str, budget: int) -> str | None:
    """The text, or its beginning and `…`, in at most `budget` bytes of JSON."""
    text = text[: max(0, budget)] + text[max(0, budget) :][:1]
    if len(json_bytes(text)) <= budget:
        return text
    if budget < _LEAST_TEXT_BYTES:
        return None
    size = len(json_bytes("…"))
    most = bisect_right(
        range(len(text)), budget - size + 2, key=lambda n: len(json_bytes(text[:n]))
    )
    return text[: max(0, most - 1)] + "…"
