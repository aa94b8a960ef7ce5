"""Roles of tasks: their names, and the prefixes of their commits."""

from __future__ import annotations

import re
from typing import Final

ROLES: Final = ("architect", "developer", "tester")
DEFAULT: Final = "developer"
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}", re.ASCII)
_PREFIXES = {"architect": "design", "tester": "test"}


def role_name(role: str | None) -> str | None:
    """The name of a role as a file is named after it; None when no file can be.

    No role is the developer's. `builder` names the part that all roles share, so it is no role.
    """
    name = (role or DEFAULT).strip().lower()
    return name if _NAME.fullmatch(name) and name != "builder" else None


def leaves_notes(role: str | None) -> bool:
    """Whether what a role leaves are the notes of its report: it changes no file."""
    return role_name(role) == "architect"


def commit_prefix(role: str | None, configured: str) -> str:
    """What the commits of a task begin with: `configured`, except for architect and tester."""
    return _PREFIXES.get(role_name(role) or "", configured)
