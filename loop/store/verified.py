"""How the last verifications went, by the tree of files that they were made of."""

from __future__ import annotations

from typing import Any

import msgspec

from loop.store.files import read, replace
from loop.store.paths import Project

#: Trees that are remembered; older ones are verified again.
_KEPT = 20


def remember(project: Project, trees: list[str], passed: dict[str, bool]) -> None:
    """Notes which commands passed on trees that are alike to them."""
    known = _known(project)
    for tree in trees:
        known[tree] = known.pop(tree, {}) | passed
    last = dict(list(known.items())[-_KEPT:])
    replace(project.state / "verified.json", msgspec.json.encode({"trees": last}), durable=False)


def passed_on(project: Project, tree: str) -> dict[str, bool]:
    """Which commands passed on a tree, as far as that is known."""
    return _known(project).get(tree, {})


def _known(project: Project) -> dict[str, dict[str, bool]]:
    try:
        data: Any = msgspec.json.decode(read(project.state / "verified.json") or b"{}")
    except (msgspec.DecodeError, UnicodeDecodeError):
        return {}
    trees = data.get("trees") if isinstance(data, dict) else None
    if not isinstance(trees, dict):
        return {}
    return {
        tree: {command: how is True for command, how in passed.items()}
        for tree, passed in trees.items()
        if isinstance(passed, dict)
    }
