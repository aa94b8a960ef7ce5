"""Taking back what a task changed, path by path, by plumbing; the person's index stays as it is.

Nothing is written or removed through a symbolic link, and no folder goes with what lies in it that
is not the task's.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from loop.errors import LoopError
from loop.git.command import Repository
from loop.git.diff import Entry, entries
from loop.git.left_out import LeftOut, outside
from loop.git.snapshot import left_out_of, temporary_index

ABSENT = "000000"


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


def sort_out(
    repository: Repository, changed: Iterable[Change], now: str, left_out: Iterable[LeftOut]
) -> Sorted:
    """What can be done about each change; `now` is a snapshot of the files as they are.

    `left_out` is what that snapshot does not hold.

    Raises:
        GitError: git refused.
    """
    changes = list(changed)
    there = _tree(repository, now)
    unseen = outside(left_out)
    ours = {change.path for change in changes}
    found = Sorted([], [], [], [])
    for change in changes:
        nothing = (ABSENT, "0" * len(change.new_id))
        is_now = there.get(repository.prefix + change.path, nothing)
        if unseen(change.path) or _obstructed(repository.git.folder, change.path, ours):
            found.stuck.append(change)
        elif is_now == change.old:
            found.done.append(change)
        elif is_now != change.new or change.mixed:
            found.overtaken.append(change)
        else:
            found.free.append(change)
    return found


def unfinished(repository: Repository, changes: Iterable[Change]) -> set[str]:
    """Paths of which the state before the task was nothing that the person had committed.

    Raises:
        GitError: git refused.
    """
    changes = list(changes)
    found: set[str] = set()
    for before in {change.before for change in changes}:
        head = repository.git.maybe("rev-parse", "--verify", "--quiet", f"{before}^")
        base = head or repository.git.text("hash-object", "-t", "tree", "-w", "--stdin")
        dirty = entries(repository, base, before)
        found |= {c.path for c in changes if c.before == before and c.path in dirty}
    return found


def content_in(repository: Repository, commit: str, change: Change) -> tuple[str, str]:
    """Mode and content of the change's path in a commit.

    Raises:
        GitError: git refused.
    """
    nothing = (ABSENT, "0" * len(change.new_id))
    return _tree(repository, commit).get(repository.prefix + change.path, nothing)


def _tree(repository: Repository, commit: str) -> dict[str, tuple[str, str]]:
    listed = repository.git.run("ls-tree", "-r", "-z", "--full-tree", commit)
    there = {}
    for record in listed.decode(errors="surrogateescape").split("\0"):
        if record:
            head, full = record.split("\t", 1)
            mode, _, blob = head.split(" ", 2)
            there[full] = (mode, blob)
    return there


def _obstructed(root: Path, path: str, ours: Collection[str]) -> bool:
    """Whether something that is not the task's stands where the path must go."""
    place = root / path
    for parent in place.relative_to(root).parents:
        above = root / parent
        taken = above.is_symlink() or (above.exists() and not above.is_dir())
        if parent != Path() and taken and parent.as_posix() not in ours:
            return True
    if place.is_symlink() or not place.is_dir():
        return False
    inside = (p for p in place.rglob("*") if p.is_symlink() or not p.is_dir())
    return any(p.relative_to(root).as_posix() not in ours for p in inside)


def put_back(repository: Repository, changed: list[Change]) -> None:
    """Writes each path as it was before, and removes those that were not there.

    Raises:
        GitError: git refused.
        LoopError: a file can't be removed.
    """
    root = repository.git.folder
    for change in changed:
        if change.old_mode == ABSENT:
            _remove(root, root / change.path)
    present = [e for e in changed if e.old_mode != ABSENT]
    if not present:
        return
    info = "".join(f"{e.old_mode} {e.old_id}\t{repository.prefix}{e.path}\0" for e in present)
    names = "".join(f"{e.path}\0" for e in present)
    with temporary_index(repository, copy=False) as env:
        git = repository.git
        git.run(
            "update-index", "-z", "--index-info", data=info.encode(errors="surrogateescape"),
            env=env,
        )  # fmt: skip
        git.run(
            "checkout-index", "--force", "-z", "--stdin",
            data=names.encode(errors="surrogateescape"), env=env,
        )  # fmt: skip


def _remove(root: Path, place: Path) -> None:
    """Removes a file and the folders above it that are empty then."""
    try:
        place.unlink(missing_ok=True)
    except NotADirectoryError:
        return  # a file stands where its folder was: it is gone
    except OSError as error:
        raise LoopError(f"{place} can't be removed: {error.strerror}") from error
    with suppress(OSError):
        for parent in place.parents:
            if parent == root:
                break
            parent.rmdir()  # only an empty one can be removed
