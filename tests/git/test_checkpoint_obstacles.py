from __future__ import annotations

import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from loop.core.task import Task, title_of
from loop.git import checkpoint as module
from loop.git.checkpoint import Checkpoint, checkpoint
from loop.git.command import GitError, Repository
from loop.git.snapshot import take
from tests.git.conftest import RunGit
from tests.git.running import NOW, committed, run


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


def test_a_branch_that_stays_locked_leaves_the_index_as_it_was(
    root: Path, repository: Repository, git: RunGit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_LOCK_WAITS_S", (0.01,))
    (root / ".git/refs/heads/main.lock").touch()

    def work() -> None:
        (root / "a.txt").write_text("by the run\n")
        (root / "n").write_text("x")
        (root / "old.txt").unlink()

    made = run(repository, work)
    assert made.commit is None
    assert made.skipped is not None and "main.lock" in made.skipped
    assert git(root, "status", "--short") == " M a.txt\n D old.txt\n?? n\n"
    (root / ".git/refs/heads/main.lock").unlink()
    assert run(repository, lambda: (root / "next").write_text("x")).commit is not None


def test_in_the_middle_of_a_series_of_picks_nothing_is_committed(
    root: Path, repository: Repository
) -> None:
    (root / ".git/sequencer").mkdir()
    made = run(repository, lambda: (root / "n").write_text("x"))
    assert made == Checkpoint(None, "a cherry-pick or revert is in progress")


@pytest.mark.parametrize("real", ["merge", "rebase", "cherry-pick", "bisect"])
def test_what_the_person_is_in_the_middle_of_can_be_ended_afterwards(
    root: Path, repository: Repository, git: RunGit, real: str
) -> None:
    git(root, "checkout", "-qb", "other")
    (root / "a.txt").write_text("theirs\n")
    git(root, "commit", "-qam", "theirs")
    git(root, "checkout", "-q", "main")
    (root / "a.txt").write_text("ours\n")
    git(root, "commit", "-qam", "ours")
    if real == "bisect":
        git(root, "bisect", "start", "HEAD", "HEAD^")
    else:
        with pytest.raises(Exception, match="non-zero"):
            git(root, real, "other")
    status, head = git(root, "status", "--short"), git(root, "rev-parse", "HEAD")
    made = run(repository, lambda: (root / "n").write_text("x"))
    assert made.commit is None
    assert made.skipped is not None and real in made.skipped
    assert git(root, "rev-parse", "HEAD") == head
    assert git(root, "status", "--short") == status + "?? n\n"
    if real == "bisect":
        git(root, "bisect", "reset")
    else:
        (root / "a.txt").write_text("both\n")
        git(root, "add", "a.txt")
        git(root, "-c", "core.editor=true", real, "--continue")
    assert git(root, "status", "--short") == "?? n\n"


def test_a_rebase_of_the_person_goes_through_while_we_look(
    root: Path, repository: Repository, git: RunGit
) -> None:
    git(root, "checkout", "-qb", "topic")
    for n in range(10):
        (root / f"t{n}").write_text("x\n")
        git(root, "add", "-A")
        git(root, "commit", "-qm", f"t{n}")
    git(root, "checkout", "-q", "main")
    (root / "a.txt").write_text("moved on\n")
    git(root, "commit", "-qam", "moved on")
    git(root, "checkout", "-q", "topic")
    over = threading.Event()
    looks: list[int] = []

    def look() -> None:
        while not over.is_set():
            with suppress(GitError):  # HEAD and files move under us; that must hurt us alone
                take(repository, "refs/loop/looked", max_file_mb=10)
            looks.append(1)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        git(root, "rebase", "-q", "--force-rebase", "main")
    finally:
        over.set()
        thread.join(30)
    assert looks
    assert git(root, "rev-list", "--count", "main..topic").strip() == "10"
    assert git(root, "status", "--short") == ""


@pytest.mark.parametrize(
    ("settings", "who"),
    [
        ("[user]\n useConfigOnly = true\n", "Claude Code <noreply@localhost>"),
        ("[user]\n useConfigOnly = true\n email = me@x.org\n", "Claude Code <me@x.org>"),
        ("[user]\n useConfigOnly = true\n name = Me\n", "Me <noreply@localhost>"),
        ("[user]\n name = Me\n email = me@x.org\n", "Me <me@x.org>"),
    ],
)
def test_what_the_person_has_set_of_an_identity_is_never_overridden(
    root: Path, repository: Repository, git: RunGit, settings: str, who: str
) -> None:
    (Path.home() / ".gitconfig").write_text(settings)
    made = run(repository, lambda: (root / "n").write_text("x"))
    assert made.commit is not None
    assert git(root, "log", "-1", "--format=%an <%ae>").strip() == who
    assert git(root, "log", "-1", "--format=%cn <%ce>").strip() == who
    assert "Claude" not in (Path.home() / ".gitconfig").read_text()
    assert "[user]" not in (root / ".git/config").read_text()


@pytest.mark.parametrize(
    "title",
    ["--amend", "-F /etc/passwd", "# title", "x" * 5000, "one\r\ntwo", "👋 Grüße", "'$(id)`",
     "Co-Authored-By: x <y@z>", "<<<<<<< HEAD"],
)  # fmt: skip
def test_any_title_is_a_message_and_nothing_else(
    root: Path, repository: Repository, git: RunGit, title: str
) -> None:
    task = Task(id="7", title=None, instructions=[title], created_at=NOW)
    before = take(repository, "refs/loop/b", max_file_mb=10)
    (root / "n").write_text("x\n")
    after = take(repository, "refs/loop/a", max_file_mb=10)
    made = checkpoint(
        repository, before=before.commit, head_before=before.head, after=after.commit,
        mode="commit", ref="refs/x", named=(), title=f"Task 7: {title_of(task)}", now=NOW,
    )  # fmt: skip
    assert made.commit is not None
    lines = git(root, "log", "-1", "--format=%B").rstrip("\n").split("\n")
    assert lines[:2] == ["Claude Code checkpoint: 2026-07-23T10:00:00Z", ""]
    assert lines[2:] == [f"Task 7: {title_of(task)}"]
    assert len(lines[2]) <= 80
    assert title_of(task)[:9] == title[:9].partition("\r")[0]
    assert git(root, "rev-list", "--count", "HEAD").strip() == "2"
