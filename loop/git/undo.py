"""Taking back what a task changed, path by path, by plumbing; the person's index stays as it is."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from loop.git.command import Repository
from loop.git.diff import Entry, entries
from loop.git.snapshot import temporary_index

ABSENT = "000000"


@dataclass(frozen=True, slots=True)
class Step:
    """One stretch of work: what stood before it and after it, as commits."""

    before: str
    after: str


def changed_over(repository: Repository, steps: list[Step]) -> dict[str, Entry]:
    """Paths that any of the steps changed: from the first `before` to the last `after`.

    Raises:
        GitError: git refused.
    """
    found: dict[str, Entry] = {}
    for step in steps:
        for path, entry in entries(repository, step.before, step.after).items():
            first = found.get(path, entry)
            found[path] = Entry(path, first.old_mode, entry.new_mode, first.old_id, entry.new_id)
    return {p: e for p, e in found.items() if (e.old_mode, e.old_id) != (e.new_mode, e.new_id)}


def overtaken(repository: Repository, changed: dict[str, Entry], now: str) -> list[str]:
    """Paths that no longer are what the task left; `now` is a tree of the files as they are.

    Raises:
        GitError: git refused.
    """
    listed = repository.git.run("ls-tree", "-r", "-z", "--full-tree", now)
    there = {}
    for record in listed.decode(errors="surrogateescape").split("\0"):
        if record:
            head, full = record.split("\t", 1)
            mode, _, blob = head.split(" ", 2)
            there[full] = (mode, blob)
    return [
        path
        for path, entry in changed.items()
        if there.get(repository.prefix + path, (ABSENT, "0" * len(entry.new_id)))
        != (entry.new_mode, entry.new_id)
    ]


def put_back(repository: Repository, changed: list[Entry]) -> None:
    """Writes each path as it was before, and removes those that were not there.

    Raises:
        GitError: git refused.
    """
    root = repository.git.folder
    for entry in changed:
        if entry.old_mode == ABSENT:
            (root / entry.path).unlink(missing_ok=True)
            with suppress(OSError):
                for parent in (root / entry.path).parents:
                    if parent == root:
                        break
                    parent.rmdir()  # only an empty one can be removed
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
