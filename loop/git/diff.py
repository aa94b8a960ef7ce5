"""What changed between two commits, as data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from loop.git.command import Repository, shown
from loop.git.left_out import LeftOut, outside
from loop.git.snapshot import is_ours

#: The mode of a path at which nothing is.
ABSENT = "000000"


@dataclass(frozen=True, slots=True)
class Entry:
    """One changed path, relative to the project; where nothing is, the id is all zeros."""

    path: str
    old_mode: str
    new_mode: str
    old_id: str
    new_id: str


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines added to and removed from one path; None for a binary file."""

    path: str
    added: int | None
    removed: int | None


def entries(
    repository: Repository, old: str, new: str, left_out: Iterable[LeftOut] = ()
) -> dict[str, Entry]:
    """Changed paths of the project between two trees or commits, by path.

    What was left out of one of them does not count as changed.

    Raises:
        GitError: git refused.
    """
    raw = repository.git.run("diff-tree", "-r", "-z", "--no-renames", "--raw", old, new)
    fields = raw.decode(errors="surrogateescape").split("\0")
    found = {}
    stays_out = outside(left_out)
    for head, path in zip(fields[::2], fields[1::2], strict=False):
        relative = repository.relative(path)
        if relative is None or is_ours(relative) or stays_out(relative):
            continue
        old_mode, new_mode, old_id, new_id, _ = head.lstrip(":").split(" ", 4)
        found[relative] = Entry(relative, old_mode, new_mode, old_id, new_id)
    return found


def line_counts(
    repository: Repository, old: str, new: str, left_out: Iterable[LeftOut] = ()
) -> list[Lines]:
    """Changed paths of the project with their line counts; see `entries`.

    Raises:
        GitError: git refused.
    """
    raw = repository.git.run("diff-tree", "-r", "-z", "--no-renames", "--numstat", old, new)
    found = []
    stays_out = outside(left_out)
    for record in raw.decode(errors="surrogateescape").split("\0"):
        if not record:
            continue
        added, removed, path = record.split("\t", 2)
        relative = repository.relative(path)
        if relative is None or is_ours(relative) or stays_out(relative):
            continue
        found.append(Lines(shown(relative), _count(added), _count(removed)))
    return found


def _count(text: str) -> int | None:
    return int(text) if text.isdigit() else None


def commits_between(repository: Repository, old: str | None, new: str | None) -> list[str]:
    """Commits reachable from `new` and not from `old`, oldest first; none when HEAD went back."""
    if new is None or new == old:
        return []
    span = f"{old}..{new}" if old else new
    listed = repository.git.maybe("rev-list", "--reverse", "--max-count=200", span)
    return listed.splitlines() if listed else []


def diff_text(repository: Repository, old: str, new: str, *paths: str) -> str:
    """The difference between two commits as a person reads it; of the whole project without paths.

    Raises:
        GitError: git refused.
    """
    arguments = ["diff-tree", "-r", "-p", "--no-renames", "--no-color", "--no-ext-diff", old, new]
    raw = repository.git.run(*arguments, "--", *(paths or ["."]))
    return raw.decode(errors="replace")
