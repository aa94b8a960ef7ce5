"""What a task changed, path by path, and what of it can be taken back now.

Nothing counts as free to be taken back in the place of which something stands that is not the
task's, or that lies behind a symbolic link. Taking back itself is git/restore.py.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from loop.git.command import Repository, shown
from loop.git.diff import ABSENT, Entry, Lines, entries, line_counts
from loop.git.left_out import LeftOut, outside
from loop.git.snapshot import left_out_of


@dataclass(frozen=True, slots=True)
class Step:
    """One stretch of work: what stood before it and after it, as commits."""

    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Change(Entry):
    """What a task made of a path, from the first step that changed it to the last one."""

    #: commits of the snapshots around those steps
    before: str
    after: str
    #: others changed the path, too, between the steps
    mixed: bool = False

    @property
    def old(self) -> tuple[str, str]:
        """Mode and content before."""
        return self.old_mode, self.old_id

    @property
    def new(self) -> tuple[str, str]:
        """Mode and content after."""
        return self.new_mode, self.new_id


@dataclass(frozen=True, slots=True)
class Sorted:
    """The changes of a task, by what can be done about them now."""

    #: still as the task left them
    free: list[Change]
    #: changed by others since, or in between; force can take them back
    overtaken: list[Change]
    #: in the way is something that no snapshot holds; not even force touches them
    stuck: list[Change]
    #: as they were before the task already
    done: list[Change]


def changed_over(repository: Repository, steps: list[Step]) -> dict[str, Change]:
    """Paths that any of the steps changed: from the first `before` to the last `after`.

    Raises:
        GitError: git refused.
    """
    found: dict[str, Change] = {}
    left_out = left_out_of(repository, *(c for s in steps for c in (s.before, s.after)))
    for step in steps:
        for path, e in entries(repository, step.before, step.after, left_out).items():
            first = found.get(path)
            if first is None:
                found[path] = Change(
                    path, e.old_mode, e.new_mode, e.old_id, e.new_id, step.before, step.after
                )
                continue
            goes_on = (e.old_mode, e.old_id) in (first.new, first.old)
            found[path] = Change(
                path, first.old_mode, e.new_mode, first.old_id, e.new_id, first.before,
                step.after, mixed=first.mixed or not goes_on,
            )  # fmt: skip
    return {path: change for path, change in found.items() if change.old != change.new}


def lines_of(repository: Repository, changes: Iterable[Change]) -> dict[str, Lines]:
    """The line counts of each change, over the steps that made it and no others.

    Raises:
        GitError: git refused.
    """
    changes = list(changes)
    found: dict[str, Lines] = {}
    for old, new in {(c.before, c.after) for c in changes}:
        counted = {line.path: line for line in line_counts(repository, old, new)}
        for change in changes:
            if (change.before, change.after) == (old, new):
                nothing = Lines(shown(change.path), None, None)
                found[change.path] = counted.get(shown(change.path), nothing)
    return found


def sort_out(
    repository: Repository, changed: Iterable[Change], now: str, left_out: Iterable[LeftOut]
) -> Sorted:
    """What can be done about each change; `now` is a snapshot of the files as they are.

    `left_out` is what that snapshot does not hold.

    Raises:
        GitError: git refused.
    """
    changes = list(changed)
    root = repository.git.folder
    there = _tree(repository, now)
    unseen = outside(left_out)
    removed = _removed(changes)
    found = Sorted([], [], [], [])
    for change in changes:
        nothing = (ABSENT, "0" * len(change.new_id))
        is_now = there.get(repository.prefix + change.path, nothing)
        hidden = unseen(change.path) or (is_now == nothing and _is_there(root / change.path))
        if hidden or _obstructed(root, change.path, removed):
            found.stuck.append(change)
        elif is_now == change.old:
            found.done.append(change)
        elif is_now != change.new or change.mixed:
            found.overtaken.append(change)
        else:
            found.free.append(change)
    removed = _removed([*found.free, *found.overtaken])
    _hold_back(root, found.free, removed, found.stuck)
    _hold_back(root, found.overtaken, removed, found.stuck)
    _hold_back(root, found.free, _removed(found.free), found.overtaken)
    return found


def _removed(changes: Iterable[Change]) -> set[str]:
    """Paths that taking the changes back removes."""
    return {change.path for change in changes if change.old_mode == ABSENT}


def _hold_back(root: Path, changes: list[Change], removed: set[str], rest: list[Change]) -> None:
    """Moves changes to the rest in the place of which something stands that is not removed."""
    held = {change.path for change in changes if _obstructed(root, change.path, removed)}
    rest += [change for change in changes if change.path in held]
    changes[:] = [change for change in changes if change.path not in held]


def unfinished(repository: Repository, changes: Iterable[Change]) -> set[str]:
    """Paths of which the state before the task was nothing that the person had committed.

    Raises:
        GitError: git refused.
    """
    changes = list(changes)
    found: set[str] = set()
    for before in {change.before for change in changes}:
        head = repository.git.maybe("rev-parse", "--verify", "--quiet", f"{before}^")
        base = head or repository.empty_tree()
        dirty = entries(repository, base, before)
        found |= {c.path for c in changes if c.before == before and c.path in dirty}
    return found


def other_in(repository: Repository, commit: str, changes: Iterable[Change]) -> list[Change]:
    """Changes of which the path is something else in a commit than before the task.

    Raises:
        GitError: git refused.
    """
    there = _tree(repository, commit)
    nothing = (ABSENT, "0" * len(commit))
    return [c for c in changes if there.get(repository.prefix + c.path, nothing) != c.old]


def _tree(repository: Repository, commit: str) -> dict[str, tuple[str, str]]:
    listed = repository.git.run("ls-tree", "-r", "-z", "--full-tree", commit)
    there = {}
    for record in listed.decode(errors="surrogateescape").split("\0"):
        if record:
            head, full = record.split("\t", 1)
            mode, _, blob = head.split(" ", 2)
            there[full] = (mode, blob)
    return there


def _is_there(place: Path) -> bool:
    """Whether a file or link is at the path, under just this name."""
    if not os.path.lexists(place) or (place.is_dir() and not place.is_symlink()):
        return False
    # Not in other letters, where case is no matter.
    return any(other.name == place.name for other in place.parent.iterdir())


def _obstructed(root: Path, path: str, removed: Collection[str]) -> bool:
    """Whether something that is not removed first stands where the path must go."""
    place = root / path
    for parent in place.relative_to(root).parents:
        above = root / parent
        taken = above.is_symlink() or (above.exists() and not above.is_dir())
        if parent != Path() and taken and parent.as_posix() not in removed:
            return True
    if place.is_symlink() or not place.is_dir():
        return False
    inside = (p for p in place.rglob("*") if p.is_symlink() or not p.is_dir())
    return any(p.relative_to(root).as_posix() not in removed for p in inside)
