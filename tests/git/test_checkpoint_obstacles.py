from __future__ import annotations

import time
from pathlib import Path

import pytest

from loop.git import checkpoint as module
from loop.git.checkpoint import Checkpoint
from loop.git.command import Repository
from tests.git.conftest import RunGit
from tests.git.running import committed, run


@pytest.mark.parametrize(
    ("mark", "words"),
    [
        ("MERGE_HEAD", "a merge"), ("CHERRY_PICK_HEAD", "a cherry-pick"),
        ("BISECT_LOG", "a bisect"),
        ("REVERT_HEAD", "a revert"), ("rebase-merge", "a rebase"), ("rebase-apply", "a rebase"),
    ],
)  # fmt: skip
def test_nothing_is_committed_in_the_middle_of_something(
    root: Path, repository: Repository, git: RunGit, mark: str, words: str
) -> None:
    (root / ".git" / mark).write_text(git(root, "rev-parse", "HEAD"))
    made = run(repository, lambda: (root / "n").write_text("x"))
    assert made == Checkpoint(None, f"{words} is in progress")
    assert git(root, "rev-list", "--count", "HEAD").strip() == "1"
    kept = run(repository, lambda: (root / "m").write_text("x"), mode="ref")
    assert committed(git, root, kept.commit) == {"m"}


def test_an_index_that_stays_locked_is_said_and_nothing_is_committed(
    root: Path, repository: Repository, git: RunGit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_LOCK_WAITS_S", (0.01, 0.01))

    def work() -> None:
        (root / "n").write_text("x")
        (root / ".git/index.lock").touch()

    made = run(repository, work)
    assert made.commit is None
    assert made.skipped is not None
    assert "index.lock" in made.skipped
    assert git(root, "rev-list", "--count", "HEAD").strip() == "1"


def test_an_index_that_is_free_again_in_a_moment_is_waited_for(
    root: Path, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = root / ".git/index.lock"
    monkeypatch.setattr(time, "sleep", lambda _s: lock.unlink(missing_ok=True))

    def work() -> None:
        (root / "n").write_text("x")
        lock.touch()

    assert run(repository, work).commit is not None


def test_hooks_signing_and_a_missing_identity_do_not_stop_it(
    root: Path, repository: Repository, git: RunGit
) -> None:
    (Path.home() / ".gitconfig").write_text("[user]\n useConfigOnly = true\n")
    git(root, "config", "commit.gpgSign", "true")
    git(root, "config", "gpg.program", "/bin/false")
    for name in ("pre-commit", "commit-msg", "reference-transaction", "post-index-change"):
        hook = root / ".git/hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text("#!/bin/sh\ntouch hooked\nexit 1\n")
        hook.chmod(0o755)
    made = run(repository, lambda: (root / "n").write_text("x"))
    assert made.commit is not None
    assert not (root / "hooked").exists()
    assert git(root, "log", "-1", "--format=%an <%ae>").strip() == "Claude Code <noreply@localhost>"
