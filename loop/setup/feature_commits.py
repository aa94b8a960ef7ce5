"""The commits of features, found by their titles: `feat(F001): Add a form`."""

from __future__ import annotations

import re
from pathlib import Path

from loop.errors import LoopError
from loop.git.command import repository_of

_MOST_COMMITS = 10_000
_TITLE = re.compile(r"([0-9a-f]{40,64}) \w+\(([^()\s]{1,100})\)!?: ")


def commits_by_feature(root: Path) -> dict[str, tuple[str, ...]]:
    """The commits of the project's branch that name an id in their title, by id, oldest first.

    Empty where there is no repository, or git can't tell.
    """
    try:
        repository = repository_of(root)
    except LoopError:
        return {}
    listed = repository and repository.git.maybe(
        "log", "--reverse", f"--max-count={_MOST_COMMITS}", "--format=%H %s"
    )
    found: dict[str, tuple[str, ...]] = {}
    for line in (listed or "").splitlines():
        title = _TITLE.match(line)
        if title is not None:
            found[title[2]] = (*found.get(title[2], ()), title[1])
    return found
