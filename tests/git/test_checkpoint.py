from __future__ import annotations

from pathlib import Path

import pytest

from loop.git.checkpoint import Checkpoint, checkpoint
from loop.git.command import Repository, repository_of
from loop.git.diff import commits_between
from loop.git.snapshot import take
from tests.git.conftest import RunGit
from tests.git.running import NOW, committed, run


def test_what_the_run_changed_is_committed_and_nothing_shows_as_undone(
    root: Path, repository: Repository, git: RunGit
) -> None:
    def work() -> None:
        (root / "a.txt").write_text("changed\n")
        (root / "new ü.sh").write_text("x\n")
        (root / "new ü.sh").chmod(0o755)
        (root / "link").symlink_to("a.txt")
        (root / "old.txt").unlink()

    first = git(root, "rev-parse", "HEAD").strip()
    made = run(repository, work)
    assert made == Checkpoint(git(root, "rev-parse", "HEAD").strip())
    assert git(root, "rev-parse", "HEAD^").strip() == first
    assert committed(git, root) == {"a.txt", "new ü.sh", "link", "old.txt"}
    assert git(root, "status", "--short") == ""
    message = git(root, "log", "-1", "--format=%an|%s|%b").strip()
    assert message == "P. Erson|Claude Code checkpoint: 2026-07-23T10:00:00Z|Task 1: Grüße"
    assert "loop: checkpoint" in git(root, "reflog", "-1")


def test_the_work_of_the_person_stays_theirs(
    root: Path, repository: Repository, git: RunGit
) -> None:
    (root / "a.txt").write_text("one\nstaged\nthree\na.txt\n")
    git(root, "add", "a.txt")
    (root / "dir/b.txt").write_text("dirty\n")
    (root / "mine.txt").write_text("untracked\n")
    staged = git(root, "diff", "--cached")
    made = run(repository, lambda: (root / "new.txt").write_text("x\n"))
    assert made.kept_out == ()
    assert committed(git, root) == {"new.txt"}
    assert git(root, "diff", "--cached") == staged
    assert git(root, "status", "--short") == "M  a.txt\n M dir/b.txt\n?? mine.txt\n"


def test_a_path_that_was_dirty_before_is_kept_out_unless_it_is_named(
    root: Path, repository: Repository, git: RunGit
) -> None:
    (root / "a.txt").write_text("dirty\n")
    (root / "mine.txt").write_text("untracked\n")

    def work() -> None:
        for name in ("a.txt", "mine.txt", "dir/b.txt"):
            (root / name).write_text("by the run\n")

    made = run(repository, work)
    assert committed(git, root, made.commit) == {"dir/b.txt"}
    assert set(made.kept_out) == {"a.txt", "mine.txt"}
    named = run(repository, lambda: (root / "a.txt").write_text("again\n"), "a.txt")
    assert committed(git, root, named.commit) == {"a.txt"}
    assert named.kept_out == ()
    assert named.mixed == ("a.txt",)  # what the person had begun went in with it: never silently


def test_what_the_builder_committed_itself_is_not_committed_again(
    root: Path, repository: Repository, git: RunGit
) -> None:
    head = repository.head()

    def work() -> None:
        (root / "a.txt").write_text("changed\n")
        git(root, "commit", "-qam", "feat(1): a")

    assert run(repository, work) == Checkpoint(None)
    assert commits_between(repository, head, repository.head()) == [repository.head()]

    def half() -> None:
        (root / "a.txt").write_text("more\n")
        git(root, "commit", "-qam", "feat(1): b")
        (root / "dir/b.txt").write_text("left\n")

    assert committed(git, root, run(repository, half).commit) == {"dir/b.txt"}


def test_a_run_that_changes_nothing_makes_no_commit(
    root: Path, repository: Repository, git: RunGit
) -> None:
    (root / "a.txt").write_text("dirty\n")
    assert run(repository, lambda: None) == Checkpoint(None)
    assert git(root, "rev-list", "--count", "HEAD").strip() == "1"


def test_a_checkpoint_bears_repetition(root: Path, repository: Repository, git: RunGit) -> None:
    before = take(repository, "refs/loop/b", max_file_mb=10)
    (root / "a.txt").write_text("changed\n")
    after = take(repository, "refs/loop/a", max_file_mb=10)

    def once() -> Checkpoint:
        return checkpoint(
            repository, before=before.commit, head_before=before.head, after=after.commit,
            mode="commit", ref="refs/x", named=(), title="T", now=NOW,
        )  # fmt: skip

    assert once().commit is not None
    assert once() == Checkpoint(None)
    assert git(root, "rev-list", "--count", "HEAD").strip() == "2"


@pytest.mark.parametrize("detached", [False, True])
def test_branches_and_detached_heads_move_on(
    root: Path, repository: Repository, git: RunGit, detached: bool
) -> None:
    if detached:
        git(root, "checkout", "-q", "--detach")
    made = run(repository, lambda: (root / "n").write_text("x"))
    assert git(root, "rev-parse", "HEAD").strip() == made.commit
    moved = git(root, "rev-parse", "main").strip() == made.commit
    assert moved is not detached


def test_the_first_commit_of_a_repository_can_be_a_checkpoint(tmp_path: Path, git: RunGit) -> None:
    root = tmp_path / "new"
    root.mkdir()
    git(root, "init", "-q")
    (root / "mine").write_text("x\n")
    repository = repository_of(root)
    assert repository is not None
    made = run(repository, lambda: (root / "made").write_text("x\n"))
    assert committed(git, root, made.commit) == {"made"}
    assert git(root, "status", "--short") == "?? mine\n"


def test_only_the_project_of_a_bigger_repository_is_committed(root: Path, git: RunGit) -> None:
    repository = repository_of(root / "dir")
    assert repository is not None

    def work() -> None:
        (root / "a.txt").write_text("outside\n")
        (root / "dir/b.txt").write_text("inside\n")
        (root / "dir/.ai").mkdir()
        (root / "dir/.ai/x").write_text("ours\n")

    assert committed(git, root, run(repository, work).commit) == {"dir/b.txt"}
    assert git(root, "status", "--short") == " M a.txt\n?? dir/.ai/\n"


def test_a_folder_in_the_place_of_a_file_is_committed_too(
    root: Path, repository: Repository, git: RunGit
) -> None:
    def work() -> None:
        (root / "a.txt").unlink()
        (root / "a.txt").mkdir()
        (root / "a.txt/x").write_text("x\n")
        (root / "dir/b.txt").unlink()
        (root / "dir").rmdir()
        (root / "dir").write_text("x\n")

    assert run(repository, work).commit is not None
    assert git(root, "status", "--short") == ""


def test_the_other_modes_leave_the_branch_alone(
    root: Path, repository: Repository, git: RunGit
) -> None:
    assert run(repository, lambda: (root / "n").write_text("x"), mode="off") == Checkpoint(None)
    made = run(repository, lambda: (root / "m").write_text("x"), mode="ref")
    assert git(root, "rev-parse", "refs/loop/made").strip() == made.commit
    assert git(root, "rev-list", "--count", "HEAD").strip() == "1"
    assert git(root, "status", "--short") == "?? m\n?? n\n"
