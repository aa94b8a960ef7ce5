"""Parents and parts among the drafts of an import.

Owns: which drafts stay parts of their parents, and in which state a parent is taken in: here it
ends with its parts, so it is settled only where they all are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import replace

from loop.store.imports import Draft

#: Parts of an id, as in 42.1.1.
MOST_LEVELS = 9


def as_families(
    drafts: Mapping[str, Draft], known: Mapping[str, str], takes_subtasks: Callable[[str], bool]
) -> tuple[dict[str, Draft], dict[str, list[str]]]:
    """The drafts with the parents and states that they can have here, and in words what changed.

    `known` are the ids that were given before; `takes_subtasks` says of one whether it still can be
    a parent. Rings of parents stay as they are: they are refused elsewhere.
    """
    levels: dict[str, int] = {}
    words: defaultdict[str, list[str]] = defaultdict(list)
    made = dict(drafts)
    for first in drafts:
        chain: list[str] = []
        old: str | None = first
        while old is not None and old in drafts and old not in levels and old not in chain:
            chain.append(old)
            old = drafts[old].parent
        if old in chain:
            levels |= dict.fromkeys(chain, 0)
            continue
        for child in reversed(chain):
            level, why = _level(drafts[child].parent, levels, known, takes_subtasks)
            levels[child] = level
            if why:
                words[child].append(f"{why}, so it is a task of its own")
                made[child] = replace(made[child], parent=None)
    parts: defaultdict[str, list[str]] = defaultdict(list)
    for old, draft in made.items():
        parts[draft.parent or ""].append(old)
    for old in sorted(made, key=lambda old: -levels[old]):  # the deepest first
        if parts[old]:
            made[old], changed = _as_parent(made[old], {made[part].state for part in parts[old]})
            words[old] += [changed] if changed else []
    return made, words


def _level(
    parent: str | None,
    levels: Mapping[str, int],
    known: Mapping[str, str],
    takes_subtasks: Callable[[str], bool],
) -> tuple[int, str]:
    """How many parts the id of a draft will have; and why it can't be a part of its parent."""
    if parent is None:
        return 1, ""
    if parent in levels:
        level = levels[parent] + 1
    elif parent in known:
        if not takes_subtasks(known[parent]):
            return 1, f"its parent {parent} has run here already"
        level = known[parent].count(".") + 2
    else:
        return 1, ""
    return (1, "ids go no deeper") if level > MOST_LEVELS else (level, "")


def _as_parent(draft: Draft, parts: set[str]) -> tuple[Draft, str]:
    fields = {name: value for name, value in draft.fields.items() if name != "note_to_run"}
    draft = replace(draft, fields=fields)
    settled = parts == {"success"} if draft.state == "success" else "queued" not in parts
    if draft.state == "queued" or settled:
        return draft, ""
    there = "done" if draft.state == "success" else "failed"
    return replace(draft, state="queued"), f"was {there}, but not all its parts; it ends with them"
