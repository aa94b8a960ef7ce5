"""The project index on disk, and a list of a project's files for where git has none."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from loop.core.context import INDEX_LINES
from loop.core.project_index import BUILD_FOLDERS
from loop.store.files import replace, text_at_end
from loop.store.paths import Project

MAX_FILES = 100_000
WALK_S = 5.0


def index_file(project: Project) -> Path:
    """Where the page is."""
    return project.ai / "project_index.md"


def write_index(project: Project, page: str) -> None:
    """Writes the page, whole."""
    replace(index_file(project), page.encode(errors="replace"), durable=False)


def index_lines(project: Project, most: int = INDEX_LINES) -> list[str]:
    """The first lines of the page; none when it was not made yet."""
    return text_at_end(index_file(project), 1 << 20).splitlines()[:most]


def walk(
    root: Path,
    *,
    max_files: int = MAX_FILES,
    within_s: float = WALK_S,
    monotonic: Callable[[], float] = time.monotonic,
) -> tuple[list[str], bool]:
    """The files below a folder without build folders, and whether these are all.

    In a fixed order, so that the same first files are found where there are too many. Links to
    folders are not followed; what can't be read is left out.
    """
    end = monotonic() + within_s
    found: list[str] = []
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in BUILD_FOLDERS)
        prefix = os.path.relpath(folder, root).replace(os.sep, "/")
        prefix = "" if prefix == "." else f"{prefix}/"
        found += [_text(prefix + name) for name in sorted(files)]
        if len(found) > max_files or monotonic() > end:
            return found[:max_files], False
    return found, True


def _text(path: str) -> str:
    return path.encode(errors="surrogateescape").decode(errors="replace")
