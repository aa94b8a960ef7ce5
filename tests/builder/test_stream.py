from __future__ import annotations

import json
from pathlib import Path

import pytest

from loop.builder import stream
from loop.builder.stream import RunReader, offset_of, read_run, run_mark, started_line
from tests.stream_lines import init, reported, result, says


def started(run: str, **more: object) -> bytes:
    return run_mark(run) + b"," + json.dumps({"event": "started", **more}).encode()[1:] + b"\n"


def stream_of(*lines: dict[str, object]) -> bytes:
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def test_our_lines_about_a_run_are_json_that_begins_with_its_mark() -> None:
    line = started("u1", shim={"pid": 7})
    assert line.startswith(run_mark("u1"))
    assert json.loads(line)["run"] == "u1"


def test_each_run_of_a_log_is_read_by_itself(tmp_path: Path) -> None:
    log = tmp_path / "0001.log"
    log.write_bytes(
        started("u1", shim={"pid": 1}) + stream_of(init(), reported("failed"))
        + run_mark("u1") + b',"event":"ended"}\n'
        + started("u2", shim={"pid": 2}) + stream_of(init(), says("NEEDS_CLARIFICATION: A?"))
        + started("u3", shim={"pid": 3}) + stream_of(init(), reported("done"))
    )  # fmt: skip
    first, second, third = (read_run(log, run) for run in ("u1", "u2", "u3"))
    assert first.report is not None
    assert (first.report["outcome"], first.question) == ("failed", None)
    assert (second.ended, second.report, second.question) == (None, None, "A?")
    assert third.report is not None
    assert (third.report["outcome"], third.lines) == ("done", 2)
    line = started_line(log, "u2")
    assert line is not None
    assert line["shim"] == {"pid": 2}


@pytest.mark.parametrize("data", [None, b"", b"\n", b"torn"])
def test_a_run_that_is_not_in_the_log_said_nothing(tmp_path: Path, data: bytes | None) -> None:
    log = tmp_path / "0001.log"
    if data is not None:
        log.write_bytes(data)
    assert offset_of(log, "u1") is None
    assert started_line(log, "u1") is None
    assert read_run(log, "u1").lines == 0


def test_a_mark_counts_at_the_start_of_a_line_only(tmp_path: Path) -> None:
    log = tmp_path / "0001.log"
    log.write_bytes(b"cut " + started("u1") + b'"' + started("u1"))
    assert offset_of(log, "u1") is None
    log.write_bytes(b"cut " + started("u1") + started("u1"))
    assert offset_of(log, "u1") == len(b"cut " + started("u1"))


def test_a_growing_log_is_taken_in_line_by_line(tmp_path: Path) -> None:
    log = tmp_path / "0001.log"
    reader = RunReader(log, "u1")
    reader.catch_up()
    data = started("u1") + stream_of(init(), says("a", "m1"), says("b", "m2"), result())
    seen = []
    for end in range(0, len(data) + 1, 37):
        log.write_bytes(data[:end])
        reader.catch_up()
        seen.append(reader.transcript.lines)
    log.write_bytes(data)
    reader.catch_up()
    reader.catch_up()
    assert seen == sorted(seen)
    assert (reader.transcript.lines, reader.transcript.replies) == (4, 2)
    assert reader.transcript == read_run(log, "u1")
    assert reader.transcript.damaged == 0


@pytest.mark.parametrize("size", [65_535, 65_536, 65_537, 1_048_576, 5_000_000])
def test_long_lines_are_read_whole(tmp_path: Path, size: int) -> None:
    log = tmp_path / "0001.log"
    log.write_bytes(started("u1") + stream_of(says("x" * size), result()))
    facts = read_run(log, "u1")
    assert len(facts.last_text) == size
    assert facts.ended is not None
    assert facts.damaged == 0


def test_a_line_beyond_all_measure_is_passed_over_and_the_run_is_read_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "MAX_LINE_BYTES", 100_000)
    monkeypatch.setattr(stream, "_BLOCK_BYTES", 30_000)
    log = tmp_path / "0001.log"
    log.write_bytes(started("u1") + stream_of(says("x" * 500_000), says("after"), result()))
    facts = read_run(log, "u1")
    assert (facts.last_text, facts.damaged) == ("after", 1)
    assert facts.ended is not None


def test_a_last_line_that_was_cut_is_no_result(tmp_path: Path) -> None:
    log = tmp_path / "0001.log"
    log.write_bytes(started("u1") + stream_of(init(), result())[:-20])
    assert read_run(log, "u1").ended is None
