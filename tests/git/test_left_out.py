from __future__ import annotations

import os
from pathlib import Path

import pytest

from loop.git.command import Repository
from loop.git.diff import entries, line_counts
from loop.git.left_out import LeftOut, crowded_folders, is_left_out, reason_to_leave_out
from loop.git.snapshot import left_out_of
from tests.git.conftest import RunGit
from tests.git.test_snapshot import content, snap

TOKEN = "ghp_" + "a1B2" * 9


@pytest.mark.parametrize(
    "name",
    [".env", ".env.local", "id_rsa", "id_ed25519.old", "key.pem", "x.p12", ".netrc", "A.KEY",
     "credentials.json", "service-account-prod.json", ".git-credentials"],
)  # fmt: skip
def test_a_name_of_a_secret_stays_out(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("x")
    assert reason_to_leave_out(tmp_path / name, 100) == "may hold a secret"


@pytest.mark.parametrize("name", [".env.example", "id_rsa.pub", "config.py"])
@pytest.mark.parametrize(
    "secret",
    [TOKEN, "AKIA" + "ABCD" * 4, "-----BEGIN OPENSSH PRIVATE KEY-----", "xoxb-1234567890ab",
     "-----BEGIN PGP PRIVATE KEY BLOCK-----", "sk-proj-" + "aB1_" * 6, "npm_" + "aB1c" * 9,
     "00D5g000004abcd!" + "aB1." * 9, "force://PlatformCLI::" + "5Aep861" * 6 + "@x.example",
     "https://hooks.slack.com/services/" + "T0" * 12],
)  # fmt: skip
def test_the_content_of_a_secret_stays_out_under_any_name(
    tmp_path: Path, name: str, secret: str
) -> None:
    (tmp_path / name).write_text("harmless\n")
    assert reason_to_leave_out(tmp_path / name, 100_000) is None
    (tmp_path / name).write_text(f"a = '{secret}'\n")
    assert reason_to_leave_out(tmp_path / name, 100_000) == "holds what looks like a key or token"
    (tmp_path / name).write_bytes(b"x" * 2000)
    assert reason_to_leave_out(tmp_path / name, 1000) == "larger than 0.001 MB"


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root can read everything")
def test_what_can_not_be_read_stays_out(tmp_path: Path) -> None:
    (tmp_path / "x").touch(mode=0)
    assert reason_to_leave_out(tmp_path / "x", 100) == "can't be read: Permission denied"


def test_a_dump_of_files_is_left_out_and_what_lies_beside_it_is_kept() -> None:
    packages = [f"web/node_modules/{n % 40}/f{n}" for n in range(30)]
    files = [*packages, "web/index.js", "src/a", "src/b", "c"]
    assert crowded_folders(files, most=10) == {"web/node_modules/": 30}
    assert crowded_folders(files, most=100) == {}


def test_several_dumps_are_left_out_until_few_enough_are_left() -> None:
    files = [f"{folder}/{n}" for folder in ("a", "b", "c") for n in range(6)]
    assert set(crowded_folders(files, most=7)) == {"a/", "b/"}
    assert crowded_folders([f"{n}" for n in range(20)], most=7) == {}


def test_a_folder_that_stays_out_stays_out_with_all_in_it() -> None:
    out = (LeftOut("a/", "1"), LeftOut("b", "2"))
    assert is_left_out("a/x", out) and is_left_out("b", out)
    assert not is_left_out("ab", out) and not is_left_out("b/x", out)


def test_more_than_a_thousand_new_files_are_left_out_and_named(
    root: Path, repository: Repository, git: RunGit
) -> None:
    (root / "web/node_modules").mkdir(parents=True)
    for n in range(900):
        (root / f"web/node_modules/{n}").touch()
    before = snap(repository)
    assert before.left_out == ()
    for n in range(900, 1100):
        (root / f"web/node_modules/{n}").touch()
    (root / "web/index.js").write_text("x\n")
    after = snap(repository, "after")
    assert [(e.path, e.why) for e in after.left_out] == [("web/node_modules/", "1100 new files")]
    assert "web/index.js" in content(git, root, after)
    changed = entries(repository, before.commit, after.commit, after.left_out)
    assert set(changed) == {"web/index.js"}  # those of before do not count as removed


def test_more_than_a_thousand_new_files_in_no_folder_are_left_out_one_by_one(
    root: Path, repository: Repository, git: RunGit
) -> None:
    for n in range(1001):
        (root / f"new{n}").touch()
    (root / "dir/new").touch()
    taken = snap(repository)
    assert len(taken.left_out) == 1001
    assert set(content(git, root, taken)) == {"a.txt", "dir/b.txt", "dir/new", "old.txt"}


@pytest.mark.parametrize("grows", [True, False])
def test_a_file_that_crosses_the_limit_counts_as_neither_new_nor_removed(
    root: Path, repository: Repository, grows: bool
) -> None:
    small, big = b"x\n" * 400, b"x\n" * 600
    (root / "data").write_bytes(small if grows else big)
    before = snap(repository, max_file_mb=0.001)
    (root / "data").write_bytes(big if grows else small)
    after = snap(repository, "after", max_file_mb=0.001)
    left_out = left_out_of(repository, before.commit, after.commit)
    assert [e.path for e in left_out] == ["data"]
    assert entries(repository, before.commit, after.commit, left_out) == {}
    assert line_counts(repository, before.commit, after.commit, left_out) == []
