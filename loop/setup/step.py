"""What `init` and `uninstall` tell of each of their steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Outcome = Literal["created", "updated", "unchanged", "kept", "skipped"]


@dataclass(frozen=True)
class Step:
    """One step, for a person to read."""

    #: the part, in a word or two
    what: str
    #: the file or folder, or `(ending)` where there is none
    where: str
    #: `kept`: it is the person's, and was left alone; `skipped`: it could not be done
    outcome: Outcome
    #: what to know or to do about it; None when nothing is
    note: str | None = None
