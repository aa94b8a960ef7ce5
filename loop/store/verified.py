"""How the last verification went, by the tree of files that it was made of."""

from __future__ import annotations

from typing import Any

import msgspec

from loop.store.files import read, replace
from loop.store.paths import Project


def remember(project: Project, tree: str, passed: dict[str, bool]) -> None:
    """Notes which commands passed on a tree."""
    data = msgspec.json.encode({"tree": tree, "passed": passed})
    replace(project.state / "verified.json", data, durable=False)


def passed_on(project: Project, tree: str) -> dict[str, bool]:
    """Which commands passed on a tree, as far as that is known."""
    try:
        known: Any = msgspec.json.decode(read(project.state / "verified.json") or b"{}")
    except (msgspec.DecodeError, UnicodeDecodeError):
        return {}
    if not isinstance(known, dict) or known.get("tree") != tree:
        return {}
    passed = known.get("passed")
    return {str(k): v is True for k, v in passed.items()} if isinstance(passed, dict) else {}
