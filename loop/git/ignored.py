"""Files that git ignores: no snapshot holds them, so what begins or ends to be ignored is no work.

A run that changes `.gitignore`, or adds by force, makes files of the person appear in the snapshot
after it, or vanish from it, that it never made or removed. They are named and left out.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from loop.git.command import Repository, shown
from loop.git.left_out import LeftOut, crowded_folders, outside

#: More names than this are told by their folders.
_MOST_NAMES = 2000


def ignored_files(repository: Repository) -> list[str]:
    """Names of what git ignores in the project; a slash at the end stands for a whole folder.

    Raises:
        GitError: git refused.
    """
    listed = repository.git.run(
        "ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory"
    )
    names = [n for n in listed.decode(errors="surrogateescape").split("\0") if n]
    folders = crowded_folders(names, _MOST_NAMES)
    few = [name for name in names if not name.startswith(tuple(folders))][:_MOST_NAMES]
    return [shown(name) for name in (*folders, *few)]


def came_and_went(
    repository: Repository, before: str, tree: str, ignored: Iterable[str]
) -> list[LeftOut]:
    """What is in one of a snapshot and a tree after it only since git ignores it now, or did then.

    `ignored` are the names of `ignored_files` at the time of the snapshot `before`.

    Raises:
        GitError: git refused.
    """
    git = repository.git
    raw = git.run("diff-tree", "-r", "-z", "--no-renames", "--name-status", before, tree)
    fields = raw.decode(errors="surrogateescape").split("\0")
    was_ignored = outside(LeftOut(name, "") for name in ignored)
    found, gone = [], []
    for status, full in zip(fields[::2], fields[1::2], strict=False):
        path = repository.relative(full)
        if path is None:
            continue
        if status == "A" and was_ignored(path):
            found.append(LeftOut(shown(path), "git ignored it before the run"))
        elif status == "D" and os.path.lexists(git.folder / path):
            gone.append(path)
    if gone:
        head = git.maybe("rev-parse", "--verify", "--quiet", f"{before}^")
        tracked = git.run("ls-tree", "-r", "-z", "--name-only", head) if head else b""
        names = set(tracked.decode(errors="surrogateescape").split("\0"))
        found += [LeftOut(shown(p), "git ignores it now") for p in gone if p not in names]
    return found
