"""Snapshots where repositories are not plain: the person's side stays as it is, bit for bit."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from loop.git.command import Repository, repository_of
from loop.git.diff import diff_text, entries
from loop.git.left_out import LeftOut
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
    assert shared == {p.name for p in (root / ".git").glob("sharedindex.*")}
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


@pytest.mark.parametrize("option", ["--assume-unchanged", "--skip-worktree"])
def test_what_git_was_told_not_to_look_at_is_seen_and_stays_unlooked_at(
    root: Path, git: RunGit, option: str
) -> None:
    git(root, "update-index", option, "a.txt", "old.txt")
    flags = git(root, "ls-files", "-v")
    (root / "a.txt").write_text("the person's own\n")
    before = snap(found(root))
    assert git(root, "show", f"{before.commit}:a.txt") == "the person's own\n"
    made = run(found(root), lambda: (root / "a.txt").write_text("by the run\n"))
    assert (made.commit, made.kept_out) == (None, ("a.txt",))
    assert list(entries(found(root), before.commit, snap(found(root)).commit)) == ["a.txt"]
    assert git(root, "ls-files", "-v") == flags


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


def test_variables_of_git_around_us_do_not_lead_astray(
    root: Path, tmp_path: Path, git: RunGit, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    git(root, "init", "-q", os.fspath(other))
    variables = {
        "GIT_DIR": other / ".git", "GIT_WORK_TREE": other, "GIT_INDEX_FILE": other / "index",
        "GIT_OBJECT_DIRECTORY": other / ".git/objects", "GIT_GLOB_PATHSPECS": "1",
        "GIT_ICASE_PATHSPECS": "1", "GIT_EXTERNAL_DIFF": "false", "GIT_DIFF_OPTS": "-u0",
        "GIT_QUARANTINE_PATH": other,
    }  # fmt: skip
    with monkeypatch.context() as around:
        for name, value in variables.items():
            around.setenv(name, str(value))
        repository = found(root)
        before = snap(repository).commit
        made = run(repository, lambda: (root / "a.txt").write_text("one\ntwo\nthree\nfour\n"))
        diff = diff_text(repository, before, snap(repository).commit, "a.txt")
    assert " two\n three\n-a.txt\n+four\n" in diff
    assert committed(git, root, made.commit) == {"a.txt"}
    assert git(other, "for-each-ref") == ""


@pytest.mark.parametrize(
    ("key", "value"),
    [("commit.gpgSign", "true"), ("core.fsmonitor", "/bin/false"), ("core.safecrlf", "true"),
     ("core.quotePath", "true"), ("status.showUntrackedFiles", "no"), ("diff.noprefix", "true"),
     ("diff.external", "/bin/false"), ("color.ui", "always"), ("i18n.commitEncoding", "latin1"),
     ("core.ignoreStat", "true"), ("diff.relative", "true"), ("feature.manyFiles", "true")],
)  # fmt: skip
def test_settings_of_the_person_s_git_change_nothing(
    root: Path, git: RunGit, key: str, value: str
) -> None:
    git(root, "config", "--global", key, value)
    before = snap(found(root)).commit

    def work() -> None:
        (root / "a.txt").write_text("one\ntwo\nthree\nfour\n")
        (root / "ü x").write_bytes(b"a\r\nb\n")
        (root / "old.txt").rename(root / "moved.txt")

    made = run(found(root), work)
    after = snap(found(root)).commit
    git(root, "config", "--global", "--unset", key)
    assert set(entries(found(root), before, after)) == {"a.txt", "ü x", "old.txt", "moved.txt"}
    assert diff_text(found(root), before, after, "a.txt").endswith(
        "--- a/a.txt\n+++ b/a.txt\n@@ -1,4 +1,4 @@\n one\n two\n three\n-a.txt\n+four\n"
    )
    assert committed(git, root, made.commit) == {"a.txt", "ü x", "old.txt", "moved.txt"}
    assert "Task 1: Grüße" in git(root, "log", "-1")
    assert git(root, "status", "--short") == ""


def test_a_folder_that_the_repository_around_it_ignores_lies_in_none(
    root: Path, git: RunGit
) -> None:
    (root / ".gitignore").write_text("*\n")
    project = root / "code/project"
    project.mkdir(parents=True)
    (project / "x").write_text("x\n")
    assert repository_of(project) is None
    git(project, "add", "-f", "x")
    assert found(project).prefix == "code/project/"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root can read all")
def test_a_tracked_file_that_can_not_be_read_is_named_and_the_rest_is_taken(
    root: Path, git: RunGit
) -> None:
    (root / "a.txt").write_text("x\n")
    (root / "a.txt").chmod(0)
    (root / "old.txt").write_text("changed\n")
    taken = snap(found(root))
    assert taken.left_out == (LeftOut("a.txt", "can't be read"),)
    assert git(root, "show", f"{taken.commit}:old.txt") == "changed\n"
