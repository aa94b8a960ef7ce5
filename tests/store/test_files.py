from __future__ import annotations

import errno
import os
import subprocess
import sys
from itertools import count
from pathlib import Path

import pytest

from loop.errors import LoopError
from loop.store.files import (
    cannot_write,
    move_if_absent,
    read,
    read_end,
    replace,
    sweep_temporary,
)
from tests.crashing import killed_before_change


@pytest.mark.parametrize("data", [b"", b"x", b"\xef\xbb\xbf\0\r\n", b"x" * 3_000_000])
def test_a_file_is_put_in_the_place_of_another_or_of_none(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a.json"
    replace(path, b"old")
    replace(path, data)
    assert path.read_bytes() == data
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_replaced_file_is_whole_whenever_the_writer_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    seen = set()
    for number in count(1):
        replace(path, b"old")
        killed = killed_before_change(number, tmp_path, lambda: replace(path, b"new" * 99))
        seen.add(path.read_bytes())
        if not killed:
            break
    assert seen == {b"old", b"new" * 99}
    assert number > 2


def test_who_reads_the_old_file_reads_it_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    replace(path, b"old" * 9999)
    with path.open("rb") as reader:
        reader.read(10)
        replace(path, b"new")
        assert len(reader.read()) == 3 * 9999 - 10


def test_a_file_that_can_not_be_written_leaves_the_old_one_and_says_why(tmp_path: Path) -> None:
    path = tmp_path / "folder"
    path.mkdir()
    (path / "kept").write_bytes(b"old")
    with pytest.raises(LoopError, match=r"^can't write .*folder: "):
        replace(path, b"new")
    assert (path / "kept").read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(LoopError, match="its folder is gone"):
        replace(tmp_path / "none" / "a.json", b"new")


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (errno.ENOSPC, "disk is full"), (errno.EDQUOT, "quota"), (errno.EROFS, "read-only"),
        (errno.EACCES, "no permission"), (errno.EPERM, "Privacy & Security"), (errno.EIO, "error"),
    ],
)  # fmt: skip
def test_the_cause_of_a_failed_write_is_said_in_one_line(code: int, words: str) -> None:
    text = str(cannot_write(Path("/p/a"), OSError(code, os.strerror(code))))
    assert words in text
    assert text.startswith("can't write /p/a: ")
    assert "\n" not in text


def test_a_file_moves_only_to_a_place_that_is_free(tmp_path: Path) -> None:
    source, target = tmp_path / "a", tmp_path / "b"
    source.write_bytes(b"new")
    target.write_bytes(b"old")
    assert not move_if_absent(source, target)
    assert (source.read_bytes(), target.read_bytes()) == (b"new", b"old")
    target.unlink()
    assert move_if_absent(source, target)
    assert not source.exists()
    assert target.read_bytes() == b"new"


def test_a_dangling_link_takes_a_place_too(tmp_path: Path) -> None:
    source, target = tmp_path / "a", tmp_path / "b"
    source.write_bytes(b"new")
    target.symlink_to(tmp_path / "nowhere")
    assert not move_if_absent(source, target)
    assert target.is_symlink()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_file_is_never_lost_on_its_way(tmp_path: Path) -> None:
    source, target = tmp_path / "a", tmp_path / "b"
    for number in count(1):
        target.unlink(missing_ok=True)
        source.write_bytes(b"data")
        killed = killed_before_change(number, tmp_path, lambda: move_if_absent(source, target))
        assert source.exists() or target.read_bytes() == b"data"
        if not killed:
            break
    assert number > 2


def test_what_is_not_there_reads_as_nothing(tmp_path: Path) -> None:
    assert read(tmp_path / "none") is None
    assert read_end(tmp_path / "none", 10) == b""
    (tmp_path / "a").write_bytes(b"0123456789")
    assert read_end(tmp_path / "a", 4) == b"6789"
    assert read_end(tmp_path / "a", 400) == b"0123456789"


def test_only_temporary_files_of_a_dead_writer_are_swept(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as dead:
        dead.wait(10)
    ours, theirs = f".a.json.{os.getpid()}.tmp", f".b.json.{dead.pid}.tmp"
    for name in (ours, theirs, ".c.json.tmp", "d.1.tmp", ".e.json"):
        (tmp_path / name).write_bytes(b"")
    sweep_temporary(tmp_path)
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {ours, ".c.json.tmp", "d.1.tmp", ".e.json"}
