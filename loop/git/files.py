"""The files of a project by git: tracked ones, and new ones that are not ignored."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from loop.core.project_index import is_built
from loop.errors import LoopError
from loop.git.command import repository_of

LIST_S = 10.0


def listed_files(root: Path, max_files: int) -> tuple[list[str], bool] | None:
    """Paths from `root` without build folders, and whether these are all.

    None when it is no repository, or git can't tell within its bound.
    """
    try:
        repository = repository_of(root, timeout_s=LIST_S)
        if repository is None:
            return None
        git = dataclasses.replace(repository.git, folder=root)
        out = git.run("ls-files", "-z", "--cached", "--others", "--exclude-standard")
    except LoopError:
        return None
    names = set(out.decode(errors="replace").split("\0")) - {""}
    paths = sorted(name for name in names if not is_built(name))
    return paths[:max_files], len(paths) <= max_files
