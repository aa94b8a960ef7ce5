"""Which project a command is about, and when it is."""

from __future__ import annotations

from argparse import Namespace
from datetime import UTC, datetime
from pathlib import Path

from loop.errors import NotFound
from loop.store.paths import Project, project_above, project_at


def project_of(given: Namespace) -> Project:
    """The project named by `--project`, else the nearest one at or above the current folder.

    Raises:
        NotFound: there is none.
    """
    return project_above(here()) if given.project is None else project_at(Path(given.project))


def here() -> Path:
    """The current folder.

    Raises:
        NotFound: it was deleted.
    """
    try:
        return Path.cwd()
    except OSError:
        raise NotFound("the current folder is gone: change to another, or use --project") from None


def utc_now() -> datetime:
    """The time, in UTC."""
    return datetime.now(UTC)
