"""What `doctor` says about one thing that it looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Finding:
    """One finding, in plain words."""

    #: nothing has to be done
    ok: bool
    #: `note`: worth knowing; `warning`: works, but not as it should; `error`: no run can start
    level: Literal["ok", "note", "warning", "error"]
    what: str
    #: what mends it, a command if there is one; None when nothing has to be mended
    mend: str | None = None


def good(what: str) -> Finding:
    """It is as it should be."""
    return Finding(True, "ok", what)


def note(what: str, mend: str | None = None) -> Finding:
    """It is worth knowing."""
    return Finding(True, "note", what, mend)


def warning(what: str, mend: str) -> Finding:
    """It works, but not as it should."""
    return Finding(False, "warning", what, mend)


def error(what: str, mend: str) -> Finding:
    """No run can start, or not safely."""
    return Finding(False, "error", what, mend)
