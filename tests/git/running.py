"""What a run is for git: a snapshot, the work, a snapshot, the checkpoint."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from loop.git.checkpoint import Checkpoint, checkpoint
from loop.git.command import Repository
from loop.git.snapshot import ref_of, take
from tests.git.conftest import RunGit

NOW = datetime(2026, 7, 23, 10, 0, tzinfo=UTC)


def run(
    repository: Repository,
    work: Callable[[], object],
    *named: str,
    mode: Literal["commit", "ref", "off"] = "commit",
) -> Checkpoint:
    """The checkpoint of a run that did `work`; `named` are paths that it says are its own."""
    root = repository.git.folder
    before = take(repository, ref_of(root, "1", 1, "before"), max_file_mb=10)
    work()
    after = take(repository, ref_of(root, "1", 1, "after"), max_file_mb=10, since=before.commit)
    return checkpoint(
        repository,
        before=before.commit,
        head_before=before.head,
        after=after.commit,
        left_out=(*before.left_out, *after.left_out),
        mode=mode,
        ref="refs/loop/made",
        named=named,
        title="Task 1: Grüße",
        now=NOW,
    )


def committed(git: RunGit, root: Path, commit: str | None = "HEAD") -> set[str]:
    """The paths of a commit."""
    assert commit is not None
    shown = git(root, "show", "-z", "--format=", "--name-only", "--no-renames", commit)
    return {path for path in shown.split("\0") if path}
