"""A log keeps its beginning and its end, however much was in between."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from loop.builder.stream import offset_of, read_run, run_mark
from loop.store.locks import FileLock
from loop.store.logs import cap_log

FIRST = b'{"type":"loop","run":"u","event":"started"}\n'
RESULT = b'{"type":"result","subtype":"success","num_turns":3}\n'


def filled(log: Path, lines: int, width: int = 100) -> int:
    middle = b"".join(json.dumps({"n": n, "x": "y" * width}).encode() + b"\n" for n in range(lines))
    log.write_bytes(FIRST + middle + RESULT)
    return log.stat().st_size


def test_whole_lines_of_head_and_tail_are_kept_and_the_gap_is_named(tmp_path: Path) -> None:
    log = tmp_path / "0001.log"
    size = filled(log, 1000)
    assert cap_log(log, max_bytes=20_000, head_bytes=5_000)
    data = log.read_bytes()
    lines = [json.loads(line) for line in data.splitlines()]
    (gap,) = (line for line in lines if line.get("event") == "cut")
    assert len(data) <= 20_000 + 100
    assert size == len(data) - len(json.dumps(gap, separators=(",", ":"))) - 1 + gap["bytes"]
    numbers = [line["n"] for line in lines if "n" in line]
    assert numbers[0] == 0
    assert numbers[-1] == 999
    assert offset_of(log, "u") == 0
    ended = read_run(log, "u").ended
    assert ended is not None
    assert ended.turns == 3
    assert not cap_log(log, max_bytes=20_100, head_bytes=5_000)


def test_a_log_that_is_not_too_long_stays_as_it_is(tmp_path: Path) -> None:
    log = tmp_path / "0001.log"
    filled(log, 10)
    before = log.read_bytes()
    assert not cap_log(log, max_bytes=20_000, head_bytes=5_000)
    assert log.read_bytes() == before
    assert not cap_log(tmp_path / "none.log")


def test_the_log_of_a_run_that_goes_on_is_not_touched(tmp_path: Path) -> None:
    log = tmp_path / "0001.log"
    filled(log, 1000)
    lock = FileLock(log)
    assert lock.try_acquire()
    assert not cap_log(log, max_bytes=20_000, head_bytes=5_000)
    lock.release()


@pytest.mark.parametrize("width", [30_000, 200_000])
def test_a_line_longer_than_head_or_tail_leaves_a_log_that_can_be_read(
    tmp_path: Path, width: int
) -> None:
    log = tmp_path / "0001.log"
    filled(log, 3, width)
    assert cap_log(log, max_bytes=20_000, head_bytes=5_000)
    lines = [json.loads(line) for line in log.read_bytes().splitlines()]
    assert lines[0]["event"] == "started"
    assert lines[-1]["type"] == "result"
    assert run_mark("u") in log.read_bytes()
