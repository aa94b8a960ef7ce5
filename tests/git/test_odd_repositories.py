"""Snapshots where repositories are not plain: the person's side stays as it is, bit for bit."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from loop.git.command import Repository, repository_of
from loop.git.diff import entries
from loop.git.snapshot import left_out_of, take
from tests.git.conftest import RunGit
from tests.git.running import committed, run
from tests.git.test_snapshot import content, make_it_lively, snap, whole_state


def found(root: Path) -> Repository:
    repository = repository_of(root)
    assert repository is not None
    return repository


def modes(root: Path) -> dict[str, int]:
    paths = (p for p in root.rglob("*") if ".git" not in p.parts)
    return {os.fspath(p): p.lstat().st_mode for p in paths}


@pytest.mark.parametrize(
    "settings",
    [{"core.autocrlf": "true"}, {"core.splitIndex": "true"}, {"index.version": "4"},
     {"core.autocrlf": "input", "core.untrackedCache": "true"}],
    ids=["autocrlf", "split index", "index v4", "untracked cache"],
)  # fmt: skip
def test_with_any_index_all_stays_as_it_is_over_a_run(
    root: Path, git: RunGit, settings: dict[str, str]
) -> None:
    for name, value in settings.items():
        git(root, "config", name, value)
    git(root, "update-index", "--refresh", "--force-write-index")
    make_it_lively(root, git)
    git(root, "checkout", "-q", "--detach")
    git(root, "status")
    before, before_modes = whole_state(git, root), modes(root)
    shared = {p.name for p in (root / ".git").glob("sharedindex.*")}
    first = snap(found(root))
    assert whole_state(git, root) == before
    assert modes(root) == before_modes
    assert shared <= {p.name for p in (root / ".git").glob("sharedindex.*")}
    assert entries(found(root), first.commit, snap(found(root), "after").commit) == {}
    assert git(root, "fsck", "--no-dangling") == ""


def test_hunks_that_are_staged_stay_staged_beside_a_checkpoint(root: Path, git: RunGit) -> None:
    make_it_lively(root, git)
    staged, stash = git(root, "diff", "--cached"), git(root, "stash", "list")
    dirty = git(root, "diff")
    made = run(found(root), lambda: (root / "made.txt").write_text("x\n"))
    assert committed(git, root, made.commit) == {"made.txt"}
    assert git(root, "diff", "--cached") == staged
    assert git(root, "diff") == dirty
    assert git(root, "stash", "list") == stash


def test_a_sparse_checkout_loses_nothing(root: Path, git: RunGit) -> None:
    git(root, "sparse-checkout", "set", "--cone", "--sparse-index")
    assert not (root / "dir").exists()
    index = (root / ".git/index").read_bytes()
    before = snap(found(root))
    assert (root / ".git/index").read_bytes() == index
    assert set(content(git, root, before)) == {"a.txt", "dir/b.txt", "old.txt"}
    made = run(found(root), lambda: (root / "new").write_text("x\n"))
    assert committed(git, root, made.commit) == {"new"}
    assert git(root, "status", "--short") == ""
    assert not (root / "dir").exists()
    assert "dir/b.txt" in git(root, "ls-tree", "-r", "--name-only", "HEAD")


@pytest.fixture
def parent(root: Path, tmp_path: Path, git: RunGit) -> Path:
    """The repository with a submodule in it, `lib`."""
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    (other / "f").write_text("x\n")
    git(other, "add", "f")
    git(other, "commit", "-qm", "f")
    allowed = ("-c", "protocol.file.allow=always")
    git(root, *allowed, "submodule", "--quiet", "add", os.fspath(other), "lib")
    git(root, "commit", "-qm", "with a submodule")
    return root


def test_a_submodule_in_which_a_run_works_is_named_and_left_alone(
    parent: Path, git: RunGit
) -> None:
    head = git(parent / "lib", "rev-parse", "HEAD")
    assert snap(found(parent)).left_out == ()

    def edit() -> None:
        (parent / "lib/f").write_text("by the run\n")
        (parent / "new").write_text("x\n")

    assert committed(git, parent, run(found(parent), edit).commit) == {"new"}
    assert [e.path for e in snap(found(parent)).left_out] == ["lib"]
    assert git(parent / "lib", "rev-parse", "HEAD") == head

    def commit() -> None:
        git(parent / "lib", "commit", "-qam", "in the submodule")
        (parent / "more").write_text("x\n")

    assert committed(git, parent, run(found(parent), commit).commit) == {"more"}
    assert [e.path for e in snap(found(parent)).left_out] == ["lib"]
    assert git(parent, "status", "--short") == " M lib\n"
    taken = snap(found(parent))
    assert git(parent, "rev-parse", f"{taken.commit}:lib") == head


def test_a_repository_that_a_run_clones_is_named_and_the_rest_is_committed(
    root: Path, git: RunGit
) -> None:
    def work() -> None:
        git(root, "init", "-q", "empty")
        git(root, "clone", "-q", os.fspath(root), "cloned")
        (root / "new").write_text("x\n")

    assert committed(git, root, run(found(root), work).commit) == {"new"}
    assert {e.path for e in snap(found(root)).left_out} == {"cloned/", "empty/"}
    assert git(root, "status", "--short") == "?? cloned/\n?? empty/\n"


def test_what_a_snapshot_left_out_can_be_read_from_it(root: Path) -> None:
    for name in (".env", "a\nb.key", "ü.pem"):
        (root / name).write_text("x")
    taken = snap(found(root))
    assert len(taken.left_out) == 3
    assert left_out_of(found(root), taken.commit, taken.commit) == taken.left_out
    assert left_out_of(found(root), "HEAD") == ()


def test_a_file_in_the_place_of_which_is_something_else_is_named(root: Path, git: RunGit) -> None:
    (root / "a.txt").unlink()
    os.mkfifo(root / "a.txt")
    taken = snap(found(root))
    assert [(e.path, e.why) for e in taken.left_out] == [("a.txt", "neither a file nor a link")]
    (root / "a.txt").unlink()


def test_a_stash_that_does_not_apply_is_no_hindrance(root: Path, git: RunGit) -> None:
    (root / "a.txt").write_text("stashed\n")
    git(root, "stash", "-q")
    (root / "a.txt").write_text("other\n")
    git(root, "commit", "-qam", "other")
    with pytest.raises(Exception, match="non-zero"):
        git(root, "stash", "pop")
    unmerged = git(root, "ls-files", "--unmerged")
    made = run(found(root), lambda: (root / "new").write_text("x\n"))
    assert committed(git, root, made.commit) == {"new"}
    assert git(root, "ls-files", "--unmerged") == unmerged


def test_a_work_tree_of_its_own_gets_its_checkpoint(
    root: Path, tmp_path: Path, git: RunGit
) -> None:
    tree = tmp_path / "tree"
    git(root, "worktree", "add", "-q", os.fspath(tree), "-b", "side")
    made = run(found(tree), lambda: (tree / "new").write_text("x\n"))
    assert git(root, "rev-parse", "side").strip() == made.commit
    assert git(root, "rev-list", "--count", "main").strip() == "1"
    git(tree, "checkout", "-q", "--detach")
    made = run(found(tree), lambda: (tree / "more").write_text("x\n"))
    assert git(tree, "rev-parse", "HEAD").strip() == made.commit
    assert git(root, "rev-list", "--count", "side").strip() == "2"


def test_the_snapshot_of_a_folder_with_a_lock_in_git_is_taken_all_the_same(
    root: Path, repository: Repository
) -> None:
    (root / ".git/index.lock").touch()
    (root / "new").write_text("x\n")
    assert take(repository, "refs/loop/x", max_file_mb=10).left_out == ()
    assert (root / ".git/index.lock").exists()
