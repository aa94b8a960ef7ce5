from __future__ import annotations

import os
from pathlib import Path

import pytest

from loop.git.command import GitError, Repository, repository_of
from loop.git.diff import diff_text, entries, line_counts
from loop.git.snapshot import Taken, ref_of, take
from tests.git.conftest import RunGit


def snap(repository: Repository, when: str = "before", max_file_mb: float = 10) -> Taken:
    ref = ref_of(repository.git.folder, "1", 1, when)
    return take(repository, ref, max_file_mb=max_file_mb)


def content(git: RunGit, root: Path, taken: Taken) -> dict[str, str]:
    """Mode of each path in the snapshot."""
    listed = git(root, "ls-tree", "-r", "-z", "--full-tree", taken.commit)
    rows = [row.split("\t", 1) for row in listed.split("\0") if row]
    return {path: head.split(" ")[0] for head, path in rows}


def whole_state(git: RunGit, root: Path) -> dict[str, object]:
    files = {
        os.fspath(p): str(p.readlink()) if p.is_symlink() else p.read_bytes()
        for p in root.rglob("*")
        if ".git" not in p.parts and (p.is_symlink() or p.is_file())
    }
    return {
        "index": (root / ".git/index").read_bytes(),
        "head": (root / ".git/HEAD").read_bytes(),
        "refs": git(root, "for-each-ref", "refs/heads", "refs/tags", "refs/stash"),
        "stash": git(root, "stash", "list"),
        "reflog": git(root, "reflog"),
        "files": files,
    }


def make_it_lively(root: Path, git: RunGit) -> None:
    """Everything that a person may have going on at once."""
    (root / "a.txt").write_text("stashed\n")
    git(root, "stash", "-q")
    (root / "a.txt").write_text("staged\n")
    git(root, "add", "a.txt")
    (root / "a.txt").write_text("staged\nand more\n")
    (root / "dir/b.txt").write_text("dirty\n")
    (root / "old.txt").unlink()
    (root / "new file.txt").write_text("untracked\n")
    (root / "grüße 👋.txt").write_text("unicode\n")
    (root / "run.sh").write_text("#!/bin/sh\n")
    (root / "run.sh").chmod(0o755)
    (root / "link").symlink_to("a.txt")
    (root / "windows.txt").write_bytes(b"a\r\nb\r\n")
    (root / ".gitignore").write_text("ignored\n")
    (root / "ignored").write_text("x")
    (root / ".ai/queue").mkdir(parents=True)
    (root / ".ai/queue/0001.json").write_text("{}")
    (root / ".claude/worktrees/x").mkdir(parents=True)
    (root / ".claude/worktrees/x/f").write_text("x")


def test_branch_index_stash_and_files_stay_as_they_are(
    root: Path, repository: Repository, git: RunGit
) -> None:
    make_it_lively(root, git)
    git(root, "status")
    before = whole_state(git, root)
    taken = snap(repository)
    assert whole_state(git, root) == before
    assert taken.head == git(root, "rev-parse", "HEAD").strip()
    assert git(root, "rev-parse", ref_of(root, "1", 1, "before")).strip() == taken.commit


def test_a_snapshot_holds_the_files_as_they_are(
    root: Path, repository: Repository, git: RunGit
) -> None:
    make_it_lively(root, git)
    taken = snap(repository)
    assert content(git, root, taken) == {
        ".gitignore": "100644", "a.txt": "100644", "dir/b.txt": "100644", "link": "120000",
        "new file.txt": "100644", "grüße 👋.txt": "100644", "run.sh": "100755",
        "windows.txt": "100644",
    }  # fmt: skip
    assert git(root, "show", f"{taken.commit}:a.txt") == "staged\nand more\n"
    assert git(root, "cat-file", "-s", f"{taken.commit}:windows.txt").strip() == "6"


def test_two_snapshots_of_the_same_files_are_the_same_tree(
    root: Path, repository: Repository, git: RunGit
) -> None:
    make_it_lively(root, git)
    first, second = snap(repository), snap(repository, "after")
    assert entries(repository, first.commit, second.commit) == {}


def test_what_git_tracks_is_taken_also_when_it_is_ignored_secret_or_huge(
    root: Path, repository: Repository, git: RunGit
) -> None:
    (root / ".gitignore").write_text("*.log\n")
    for name in ("kept.log", ".env", "big.bin"):
        (root / name).write_text("x" * 2000)
    git(root, "add", "-f", ".")
    git(root, "commit", "-qm", "on purpose")
    taken = snap(repository, max_file_mb=0.001)
    assert {"kept.log", ".env", "big.bin"} < set(content(git, root, taken))
    assert taken.left_out == ()


def test_secrets_and_huge_files_are_left_out_and_named(
    root: Path, repository: Repository, git: RunGit
) -> None:
    for name in (".env", "dir/server.key", "id_rsa", ".env.example"):
        (root / name).write_text("x")
    (root / "big.bin").write_bytes(b"x" * 2_000_001)
    taken = snap(repository, max_file_mb=2)
    assert {(entry.path, entry.why) for entry in taken.left_out} == {
        (".env", "may hold a secret"), ("dir/server.key", "may hold a secret"),
        ("id_rsa", "may hold a secret"), ("big.bin", "larger than 2 MB"),
    }  # fmt: skip
    assert ".env.example" in content(git, root, taken)
    assert not {".env", "big.bin"} & set(content(git, root, taken))


@pytest.mark.parametrize("has_commit", [False, True])
def test_a_nested_repository_is_named_and_left_alone(
    root: Path, repository: Repository, git: RunGit, has_commit: bool
) -> None:
    nested = root / "vendor/lib"
    nested.mkdir(parents=True)
    git(nested, "init", "-q")
    (nested / "f").write_text("x")
    if has_commit:
        git(nested, "add", "f")
        git(nested, "commit", "-qm", "x")
    taken = snap(repository)
    assert [(e.path, e.why) for e in taken.left_out] == [("vendor/lib/", "a repository of its own")]
    assert not any(path.startswith("vendor") for path in content(git, root, taken))


def test_a_file_may_stand_where_a_folder_was_and_the_other_way_round(
    root: Path, repository: Repository, git: RunGit
) -> None:
    before = snap(repository)
    (root / "dir/b.txt").unlink()
    (root / "dir").rmdir()
    (root / "dir").write_text("a file now\n")
    (root / "a.txt").unlink()
    (root / "a.txt").mkdir()
    (root / "a.txt/inside").write_text("x\n")
    after = snap(repository, "after")
    assert set(content(git, root, after)) == {"dir", "a.txt/inside", "old.txt"}
    changed = entries(repository, before.commit, after.commit)
    assert set(changed) == {"dir", "dir/b.txt", "a.txt", "a.txt/inside"}


def test_a_name_that_is_no_utf8_is_kept_in_bytes_and_shown_as_text(
    root: Path, repository: Repository
) -> None:
    before = snap(repository)
    Path(os.fsdecode(os.fsencode(root) + b"/caf\xe9")).write_text("x\n")
    Path(os.fsdecode(os.fsencode(root) + b"/\xe9.key")).write_text("x\n")
    after = snap(repository, "after")
    (lines,) = line_counts(repository, before.commit, after.commit)
    lines.path.encode()
    assert lines.path == "caf\ufffd"
    after.left_out[0].path.encode()
    assert set(entries(repository, before.commit, after.commit)) == {"caf\udce9"}


def test_without_a_commit_a_snapshot_has_no_parent(tmp_path: Path, git: RunGit) -> None:
    root = tmp_path / "new"
    root.mkdir()
    git(root, "init", "-q")
    (root / "f").write_text("x\n")
    repository = repository_of(root)
    assert repository is not None
    taken = snap(repository)
    assert taken.head is None
    assert set(content(git, root, taken)) == {"f"}
    assert git(root, "status", "--short") == "?? f\n"


def test_a_sub_folder_of_a_bigger_repository_is_a_project_of_its_own(
    root: Path, git: RunGit
) -> None:
    sub = root / "dir"
    (root / "a.txt").write_text("outside\n")
    repository = repository_of(sub)
    assert repository is not None
    assert repository.prefix == "dir/"
    before = snap(repository)
    (root / "a.txt").write_text("outside again\n")
    (sub / "b.txt").write_text("inside\n")
    (sub / "c.txt").write_text("new\n")
    (sub / ".ai").mkdir()
    (sub / ".ai/x").write_text("ours")
    after = snap(repository, "after")
    assert set(entries(repository, before.commit, after.commit)) == {"b.txt", "c.txt"}
    assert "inside" in diff_text(repository, before.commit, after.commit, "b.txt")
    assert "new" not in diff_text(repository, before.commit, after.commit, "b.txt")
    whole = diff_text(repository, before.commit, after.commit)
    assert "new" in whole
    assert "outside" not in whole


def test_work_trees_and_detached_heads_are_no_hindrance(
    root: Path, tmp_path: Path, git: RunGit
) -> None:
    tree = tmp_path / "tree"
    git(root, "worktree", "add", "-q", "--detach", os.fspath(tree))
    (tree / "a.txt").write_text("in the tree\n")
    repository = repository_of(tree)
    assert repository is not None
    taken = snap(repository)
    assert git(tree, "show", f"{taken.commit}:a.txt") == "in the tree\n"
    assert git(tree, "status", "--short") == " M a.txt\n"
    assert git(root, "status", "--short") == ""
    assert ref_of(tree, "1", 1, "before") != ref_of(root, "1", 1, "before")


def test_a_merge_with_conflicts_can_be_snapshot(
    root: Path, repository: Repository, git: RunGit
) -> None:
    git(root, "checkout", "-qb", "other")
    (root / "a.txt").write_text("theirs\n")
    git(root, "commit", "-qam", "theirs")
    git(root, "checkout", "-q", "main")
    (root / "a.txt").write_text("ours\n")
    git(root, "commit", "-qam", "ours")
    with pytest.raises(Exception, match="non-zero"):
        git(root, "merge", "other")
    status = git(root, "status", "--short")
    taken = snap(repository)
    assert "<<<<<<<" in git(root, "show", f"{taken.commit}:a.txt")
    assert git(root, "status", "--short") == status


def test_line_counts_know_text_binary_and_removed_files(root: Path, repository: Repository) -> None:
    before = snap(repository)
    (root / "a.txt").write_text("one\ntwo\n")
    (root / "old.txt").unlink()
    (root / "tab\tname").write_bytes(b"\0\1")
    after = snap(repository, "after")
    lines = {line.path: (line.added, line.removed) for line in line_counts(
        repository, before.commit, after.commit)}  # fmt: skip
    assert lines == {"a.txt": (0, 2), "old.txt": (0, 4), "tab\tname": (None, None)}


def test_a_folder_without_git_is_no_repository(tmp_path: Path) -> None:
    assert repository_of(tmp_path) is None


def test_git_that_refuses_says_why_in_one_line(repository: Repository) -> None:
    with pytest.raises(GitError, match=r"^git cat-file: fatal: .*nothing"):
        repository.git.run("cat-file", "-p", "nothing")


def test_a_link_may_stand_where_a_folder_was(
    root: Path, repository: Repository, git: RunGit, tmp_path: Path
) -> None:
    before = snap(repository)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/b.txt").write_text("not of the project\n")
    (root / "dir/b.txt").unlink()
    (root / "dir").rmdir()
    (root / "dir").symlink_to(tmp_path / "elsewhere")
    after = snap(repository, "after")
    assert content(git, root, after) == {"a.txt": "100644", "dir": "120000", "old.txt": "100644"}
    assert set(entries(repository, before.commit, after.commit)) == {"dir", "dir/b.txt"}
