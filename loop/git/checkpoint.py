"""The checkpoint: a commit, by plumbing, of what a run changed and did not commit itself.

Only paths that changed between the snapshots before and after the run; paths that were dirty before
it stay out unless they are named. No hooks, no signing, no touching of other staged work. Nothing
happens in the middle of a merge, rebase, cherry-pick, revert or bisect.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

from loop.git.command import Git, GitError, Repository, shown
from loop.git.diff import ABSENT, Entry, entries
from loop.git.left_out import LeftOut
from loop.git.snapshot import temporary_index

_FALLBACK = {
    "GIT_AUTHOR_NAME": "Claude Code",
    "GIT_AUTHOR_EMAIL": "noreply@localhost",
    "GIT_COMMITTER_NAME": "Claude Code",
    "GIT_COMMITTER_EMAIL": "noreply@localhost",
}
_IN_PROGRESS = {
    "MERGE_HEAD": "a merge",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "BISECT_LOG": "a bisect",
    "sequencer": "a cherry-pick or revert",
}
_LOCK_WAITS_S = (0.05, 0.1, 0.2, 0.4, 0.8)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What became of it."""

    #: None when there was nothing to commit, or it was skipped
    commit: str | None
    #: why no commit was made though there was something to commit
    skipped: str | None = None
    #: paths left out because the person had changed them before the run
    kept_out: tuple[str, ...] = ()
    #: paths that went in whole though the person had changed them before the run: they were named
    mixed: tuple[str, ...] = ()


def checkpoint(
    repository: Repository,
    *,
    before: str,
    head_before: str | None,
    after: str,
    left_out: tuple[LeftOut, ...] = (),
    mode: Literal["commit", "ref", "off"],
    ref: str,
    named: tuple[str, ...],
    unfinished: Collection[str] = (),
    title: str,
    now: datetime,
) -> Checkpoint:
    """Commits the run's changes.

    `before` and `after` are the snapshots, without what `left_out` of either; `named` are paths
    that the Builder says are its work, relative to the project; `unfinished` are paths that count
    as the person's unfinished work whatever git says; `ref` is where the commit goes in mode `ref`.
    """
    if mode == "off":
        return Checkpoint(None)
    try:
        head = repository.head()
        base = head or repository.empty_tree()
        uncommitted = entries(repository, base, after, left_out)
        changed = entries(repository, before, after, left_out)
        dirty = {*entries(repository, head_before or repository.empty_tree(), before), *unfinished}
        paths, kept_out = _chosen(changed, uncommitted, dirty, named)
        if not paths:
            return Checkpoint(None, kept_out=kept_out)
        mixed = tuple(shown(entry.path) for entry in paths if entry.path in dirty)
        busy = operation_in_progress(repository.git_dir)
        if busy and mode == "commit":
            return Checkpoint(None, f"{busy} is in progress", kept_out)
        commit = _commit(repository, head, paths, f"{_subject(now)}\n\n{title}\n")
        if mode == "ref":
            repository.git.run("update-ref", ref, commit)
            return Checkpoint(commit, kept_out=kept_out, mixed=mixed)
        _move_head(repository, head, commit, paths)
        return Checkpoint(commit, kept_out=kept_out, mixed=mixed)
    except GitError as error:
        return Checkpoint(None, str(error))


def _subject(now: datetime) -> str:
    return f"Claude Code checkpoint: {now:%Y-%m-%dT%H:%M:%SZ}"


def operation_in_progress(git_dir: Path) -> str | None:
    """What the person is in the middle of, in words; None when nothing."""
    return next((words for name, words in _IN_PROGRESS.items() if (git_dir / name).exists()), None)


def _chosen(
    changed: Iterable[str],
    uncommitted: dict[str, Entry],
    dirty: Collection[str],
    named: tuple[str, ...],
) -> tuple[list[Entry], tuple[str, ...]]:
    wanted, kept_out = [], []
    for path in changed:
        if path not in uncommitted:
            continue
        if path in dirty and path not in named:
            kept_out.append(shown(path))
        else:
            wanted.append(uncommitted[path])
    return wanted, tuple(kept_out)


def _commit(repository: Repository, head: str | None, paths: list[Entry], message: str) -> str:
    git = repository.git
    with temporary_index(repository, copy=False) as env:
        if head:
            git.run("read-tree", head, env=env)
        git.run("update-index", "-z", "--index-info", data=_info(repository, paths), env=env)
        tree = git.text("write-tree", env=env)
    arguments = ["commit-tree", tree, *(("-p", head) if head else ()), "-F", "-"]
    data = message.encode()
    try:
        return git.run(*arguments, data=data).decode().strip()
    except GitError:
        return git.run(*arguments, data=data, env=_identity(repository)).decode().strip()


def _identity(repository: Repository) -> dict[str, str]:
    """Who commits where git knows no full identity: what the person has set, else our own."""
    known = {
        "NAME": repository.git.maybe("config", "user.name"),
        "EMAIL": repository.git.maybe("config", "user.email"),
    }
    return {key: known[key.rpartition("_")[2]] or value for key, value in _FALLBACK.items()}


def _info(repository: Repository, paths: list[Entry]) -> bytes:
    lines = []
    for entry in paths:
        full = repository.prefix + entry.path
        if entry.new_mode == ABSENT:
            lines.append(f"0 {'0' * len(entry.new_id)}\t{full}\0")
        else:
            lines.append(f"{entry.new_mode} {entry.new_id}\t{full}\0")
    return "".join(lines).encode(errors="surrogateescape")


def _move_head(repository: Repository, head: str | None, commit: str, paths: list[Entry]) -> None:
    """Puts the paths into the person's index, so that they do not show as undone, and moves HEAD.

    When HEAD can't be moved the paths are put back as they were in the index.
    """
    git = repository.git
    names = "".join(f"{repository.prefix}{entry.path}\0" for entry in paths)
    listed = git.run("ls-files", "-z", "--stage", "--full-name")
    wanted = set(names.split("\0"))
    was = [
        line
        for line in listed.decode(errors="surrogateescape").split("\0")
        if line.partition("\t")[2] in wanted and line
    ]
    gone = "".join(f"0 {'0' * len(commit)}\t{name}\0" for name in sorted(wanted) if name)
    undo = (gone + "".join(f"{line}\0" for line in was)).encode(errors="surrogateescape")
    _locked("index.lock", lambda: _index(git, _info(repository, paths)))
    old = head or "0" * len(commit)
    try:
        _locked(
            ".lock", lambda: git.run("update-ref", "-m", "loop: checkpoint", "HEAD", commit, old)
        )
    except GitError:
        _locked("index.lock", lambda: _index(git, undo))
        raise


def _index(git: Git, data: bytes) -> bytes:
    return git.run("update-index", "-z", "--index-info", data=data)


def _locked(lock: str, action: Callable[[], object]) -> None:
    """Does it, and again for a moment while somebody else's lock is in the way."""
    for wait_s in (*_LOCK_WAITS_S, None):
        try:
            action()
            return
        except GitError as error:
            if wait_s is None or lock not in str(error):
                raise
            time.sleep(wait_s)
