"""The compact context: what a run needs to know, in few bytes.

Owns: which parts there are, in which order they are kept, and its two forms: JSON for a file, and
text for a prompt, in which the task itself stands already. Does not own: where the parts come from,
how a value is cut to its share (`fitting`), who reads the result.

When all does not fit, each part gets, in the order of `PARTS`, what it needs but at most half of
what is left; then what is still left goes to them in the same order. So the most useful part is
the largest, and none starves the others. Texts are cut at characters and end in `…`; lists lose
whole entries, logs their oldest. `cut` names what was cut: `"other_tasks: 12 of 9990"`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from loop.core.fitting import fit, item_size, json_bytes, shares

#: The parts in their order, most useful first, each with the way in which it is cut.
PARTS: Final = (
    ("current_task", "task"),
    ("dependency_tasks", "notes"),
    ("parent_task", "entry"),
    ("sibling_tasks", "head"),
    ("relevant_progress", "tail"),
    ("queue_summary", "whole"),
    ("execution_protocol", "head"),
    ("recent_progress", "tail"),
    ("project_index", "head"),
    ("other_tasks", "head"),
)
#: No bound may be smaller; the parts without any content would not fit.
LEAST_BYTES: Final = 1024
INDEX_LINES: Final = 80
_ON_ONE_LINE = ("entry", "whole")
#: The part of which there may be more than is given.
_COUNTED = "other_tasks"
_TITLE_CHARACTERS = 72
_TASK_FIELDS = (
    "id", "title", "instructions", "acceptance_criteria", "acceptance", "target", "guidance",
    "note_to_run", "notes", "type", "role", "depends_on", "parent", "priority",
)  # fmt: skip

PROTOCOL: Final = (
    "Begin with this context, the handoff log and git; do nothing again that is done.",
    "Analyse: read the code that the task touches, and what the tasks before it left.",
    "Design: choose the smallest change that meets every criterion; note what you decide.",
    "Implement: this task only, in the style of the code around it.",
    "Verify: every criterion is met, tests and lint pass, your files are committed.",
    "Split a task with more than about 15 targets into parts of 5 to 15 that name their targets.",
    "Before you end, look back: criteria, edge cases, quality, debt, and a note for who goes on.",
    "If it can't be done, say failed and why; if a person must decide, ask. Never guess a success.",
)


class Known(NamedTuple):
    """What other tasks are told of a task."""

    id: str
    title: str
    status: str
    role: str | None = None
    #: what it left for the tasks that stand on it
    notes: str | None = None


def compact_context(
    current: Mapping[str, Any],
    *,
    parent: Known | None = None,
    dependencies: Sequence[Known] = (),
    siblings: Sequence[Known] = (),
    others: Iterable[Known] = (),
    counts: Mapping[str, int] | None = None,
    relevant: Sequence[str] = (),
    recent: Sequence[str] = (),
    index: Sequence[str] = (),
    protocol: Sequence[str] = PROTOCOL,
) -> dict[str, Any]:
    """The context, whole: plain data with the keys of `PARTS`.

    `current` is the task as plain data; `others` come in the order in which they are worth
    knowing; `relevant` and `recent` are lines of the handoff log, oldest first; `index` holds the
    lines of the project index.
    """
    first = {key: current[key] for key in _TASK_FIELDS if current.get(key) not in (None, [], "")}
    return {
        "current_task": first | {k: v for k, v in current.items() if k not in _TASK_FIELDS},
        "dependency_tasks": [_entry(known) for known in dependencies],
        "parent_task": None if parent is None else _entry(parent),
        "sibling_tasks": [_row(known) for known in siblings],
        "relevant_progress": list(relevant),
        "queue_summary": dict(counts or {}),
        "execution_protocol": list(protocol),
        "recent_progress": list(recent),
        "project_index": [line for line in index if line.strip()][:INDEX_LINES],
        "other_tasks": [_row(known) for known in others],
    }


def _row(known: Known) -> dict[str, Any]:
    title = known.title
    if len(title) > _TITLE_CHARACTERS:
        title = title[: _TITLE_CHARACTERS - 1] + "…"
    return {"id": known.id, "title": title, "status": known.status}


def _entry(known: Known) -> dict[str, Any]:
    entry = _row(known)
    if known.role:
        entry["role"] = known.role
    if known.notes:
        entry["notes"] = known.notes
    return entry


def encode_context(context: Mapping[str, Any], max_bytes: int, *, more: int = 0) -> bytes:
    """The context as JSON of at most `max_bytes`, which must be `LEAST_BYTES` or more.

    One entry a line, so that no reader cuts it at long lines. `cut` names what is not whole; `more`
    is how many other tasks there are beside those in the context.
    """
    if max_bytes < LEAST_BYTES:
        raise ValueError(f"max_bytes must be {LEAST_BYTES} or more, not {max_bytes}")
    fixed = len(b'{\n"cut":[]\n}\n') + sum(len(key) + len(b'"":,\n') for key, _ in PARTS)
    needs = [_size(kind, context[key], max_bytes) for key, kind in PARTS]
    if not more and fixed + sum(needs) <= max_bytes:
        return _written({key: context[key] for key, _ in PARTS}, [])
    # What says that a part was cut, and the empty value of a part of which nothing is left.
    fixed += sum(len(key) + 2 * len(str(_length(context[key]) + more)) + 24 for key, _ in PARTS)
    needs = [need if context[key] else 0 for (key, _), need in zip(PARTS, needs, strict=True)]
    kept: dict[str, Any] = {}
    cut: list[str] = []
    for (key, kind), need, share in zip(
        PARTS, needs, shares(needs, max_bytes - fixed), strict=True
    ):
        kept[key], lost = _fitted(key, kind, context[key], need, share, more)
        if lost:
            cut.append(f"{key}: {lost}")
    return _written(kept, cut)


def _fitted(key: str, kind: str, value: Any, need: int, share: int, more: int) -> tuple[Any, str]:
    """A part in its share, and in words how much of it that is; no words when it is whole."""
    kept, lost = (value, "") if need <= share else fit(kind, value, share)
    if more and key == _COUNTED:
        lost = f"{len(kept)} of {len(value) + more}"
    return kept, lost


def _written(parts: Mapping[str, Any], cut: list[str]) -> bytes:
    lines = [json_bytes(key) + b":" + _block(kind, parts[key]) for key, kind in PARTS]
    lines.append(b'"cut":' + json_bytes(cut))
    return b"{\n" + b",\n".join(lines) + b"\n}\n"


def _block(kind: str, value: Any) -> bytes:
    if not value or kind in _ON_ONE_LINE:
        return json_bytes(value)
    if kind == "task":
        items = [json_bytes(key) + b":" + json_bytes(item) for key, item in value.items()]
        return b"{\n" + b",\n".join(items) + b"\n}"
    return b"[\n" + b",\n".join(map(json_bytes, value)) + b"\n]"


def _size(kind: str, value: Any, limit: int) -> int:
    """Bytes that `_block` makes of a part, or something above `limit`."""
    if not value or kind in _ON_ONE_LINE:
        return len(json_bytes(value))
    size = 2
    for item in value.items() if kind == "task" else value:
        size += item_size(item)
        if size > limit:
            break
    return size


def _length(value: Any) -> int:
    return len(value) if isinstance(value, dict | list) else 1


#: What the prompt says before each part. The task itself stands in it in full.
HEADINGS: Final = {
    "dependency_tasks": "Tasks that this one stands on, and what they left for it:",
    "parent_task": "It is a part of this task:",
    "sibling_tasks": "The other parts of that task:",
    "relevant_progress": "From the handoff log, about this task:",
    "queue_summary": "The queue:",
    "execution_protocol": "How to go about it:",
    "recent_progress": "The end of the handoff log:",
    "project_index": "From the project index:",
    "other_tasks": "Other tasks:",
}
#: Blank lines, a line break, and the line that says how much was cut.
_AROUND_BYTES = 50


def context_text(context: Mapping[str, Any], max_bytes: int, *, more: int = 0) -> str:
    """The same content as `encode_context` for a prompt; empty when there is nothing to tell.

    At most `max_bytes` of UTF-8. A part of which nothing fits is left out with its heading.
    """
    kinds = dict(PARTS)
    told = [key for key in HEADINGS if context.get(key)]
    needs = {key: _size(kinds[key], context[key], max_bytes) for key in told}
    while told:
        budget = max_bytes - sum(len(HEADINGS[key]) + _AROUND_BYTES for key in told)
        kept = {
            key: _fitted(key, kinds[key], context[key], needs[key], share, more)
            for key, share in zip(told, shares([needs[key] for key in told], budget), strict=True)
        }
        empty = [key for key in told if not kept[key][0]]
        if not empty:
            break
        told.remove(empty[-1])  # what its heading would have taken is for the others
    parts = []
    for key in told:
        value, lost = kept[key]
        lines = [HEADINGS[key], *_lines(value)]
        parts.append("\n".join([*lines, f"(shortened: {lost})"] if lost else lines))
    return "\n\n".join(parts)


def _lines(value: Any) -> Iterator[str]:
    if isinstance(value, dict) and "id" not in value:
        yield ", ".join(f"{count} {state}" for state, count in value.items())
        return
    for entry in value if isinstance(value, list) else [value]:
        yield entry if isinstance(entry, str) else _told(entry)


def _told(entry: Mapping[str, Any]) -> str:
    state = ", ".join(filter(None, (entry.get("role"), entry["status"])))
    line = f"- {entry['id']} ({state}) {entry['title']}"
    return f"{line}\n{entry['notes']}" if entry.get("notes") else line
