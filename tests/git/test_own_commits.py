"""What a Builder's own commits took along or left behind is known."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from loop.git.command import Repository, repository_of
from loop.git.left_out import LeftOut
from loop.git.own_commits import OwnCommits, own_commits
from loop.git.snapshot import left_out_of
from tests.git.conftest import RunGit
from tests.git.test_snapshot import snap


def commits_of(repository: Repository, work: Callable[[], object]) -> OwnCommits:
    before = snap(repository)
    work()
    after = snap(repository)
    return own_commits(
        repository,
        before=before.commit,
        head_before=before.head,
        after=after.commit,
        head=after.head,
        left_out=left_out_of(repository, before.commit, after.commit),
        max_file_mb=10,
    )


def test_the_person_s_unfinished_work_in_them_is_named(
    root: Path, repository: Repository, git: RunGit
) -> None:
    (root / "old.txt").write_text("begun\n")
    (root / "mine.txt").write_text("untracked\n")
    (root / ".env").write_text("A=1\n")
    (root / "dir/b.txt").write_text("staged\n")
    git(root, "add", "dir/b.txt")
    (root / "dir/b.txt").write_text("one\ntwo\nthree\ndir/b.txt\n")

    def work() -> None:
        (root / "a.txt").write_text("by the run\n")
        git(root, "add", "a.txt", "mine.txt", ".env", "old.txt")
        git(root, "commit", "-qm", "feat(1): a, and what was there")

    found = commits_of(repository, work)
    assert found.made == (repository.head(),)
    assert found.swept_up == (".env", "dir/b.txt", "mine.txt", "old.txt")
    assert found.left_behind is None
    words = "\n".join(found.warnings())
    assert "hold your unfinished work on: .env, dir/b.txt, mine.txt, old.txt" in words
    assert "hold what should stay out of git: .env (may hold a secret)" in words


def test_a_secret_that_the_builder_made_and_committed_is_named(
    root: Path, repository: Repository, git: RunGit
) -> None:
    def work() -> None:
        (root / "settings").write_text(f"token = 'ghp_{'a1B2' * 9}'\n")
        (root / "a.txt").write_text("by the run\n")
        git(root, "add", "-A")
        git(root, "commit", "-qm", "feat(1): settings")

    found = commits_of(repository, work)
    assert found.swept_up == ()
    assert found.risky == (LeftOut("settings", "holds what looks like a key or token"),)


def test_what_was_staged_beside_the_project_is_named(root: Path, git: RunGit) -> None:
    (root / "a.txt").write_text("the person's, staged\n")
    git(root, "add", "a.txt")
    project = repository_of(root / "dir")
    assert project is not None

    def work() -> None:
        (root / "dir/b.txt").write_text("by the run\n")
        git(root / "dir", "add", "b.txt")
        git(root / "dir", "commit", "-qm", "feat(1): b")

    assert commits_of(project, work).swept_up == ("a.txt",)


@pytest.mark.parametrize("how", ["reset --soft HEAD~1", "commit --amend -m other", "checkout -q -"])
def test_a_commit_that_is_no_longer_under_head_is_named(
    root: Path, repository: Repository, git: RunGit, how: str
) -> None:
    git(root, "checkout", "-qb", "work")
    (root / "a.txt").write_text("the person's second commit\n")
    git(root, "commit", "-qam", "second")
    head = repository.head()
    found = commits_of(repository, lambda: git(root, *how.split()))
    assert found.left_behind == head
    assert found.swept_up == ()
    assert f"HEAD no longer holds commit {str(head)[:12]}" in found.warnings()[0]


def test_plain_work_in_commits_of_its_own_gives_no_warning(
    root: Path, repository: Repository, git: RunGit
) -> None:
    def work() -> None:
        (root / "a.txt").write_text("by the run\n")
        (root / "dir/b.txt").rename(root / "dir/c.txt")
        (root / "old.txt").unlink()
        git(root, "add", "-A")
        git(root, "commit", "-qm", "feat(1): first")
        (root / "new.txt").write_text("by the run\n")
        git(root, "add", "-A")
        git(root, "commit", "-qm", "feat(1): second")

    found = commits_of(repository, work)
    assert (len(found.made), found.warnings()) == (2, [])
    assert commits_of(repository, lambda: None) == OwnCommits()
