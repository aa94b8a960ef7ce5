from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop.store.timeline import append, last, read_from, size_of


def line(number: int, **more: object) -> bytes:
    return json.dumps({"event": "x", "n": number, **more}).encode() + b"\n"


def numbers(events: list[dict[str, object]]) -> list[object]:
    return [event["n"] for event in events]


def test_an_empty_or_absent_timeline_has_no_events(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    assert read_from(path, 0) == ([], 0)
    assert last(path, 5) == []
    assert size_of(path) == 0
    path.touch()
    assert read_from(path, 0) == ([], 0)
    assert last(path, 5) == []


def test_events_are_read_on_from_where_one_was(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    append(path, line(1) + line(2))
    events, offset = read_from(path, 0)
    assert numbers(events) == [1, 2]
    assert offset == size_of(path)
    assert read_from(path, offset) == ([], offset)
    append(path, line(3))
    assert numbers(read_from(path, offset)[0]) == [3]


def test_a_line_that_is_not_whole_yet_is_left_for_later(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    append(path, line(1) + line(2)[:-5])
    events, offset = read_from(path, 0)
    assert numbers(events) == [1]
    with path.open("ab") as file:
        file.write(line(2)[-5:])
    assert numbers(read_from(path, offset)[0]) == [2]


def test_after_a_cut_line_the_next_event_stands_on_a_line_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    append(path, line(1) + line(2)[:-7])
    append(path, line(3))
    assert path.read_bytes() == line(1) + line(2)[:-7] + b"\n" + line(3)
    assert numbers(read_from(path, 0)[0]) == [1, 3]
    assert numbers(last(path, 5)) == [1, 3]


def test_what_is_no_event_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"\n\xff\n[1]\n5\n{}\n" + b"[" * 9999 + b"\n" + line(1) + b"\r\n")
    assert numbers(read_from(path, 0)[0]) == [1]
    assert numbers(last(path, 9)) == [1]


def test_a_timeline_that_became_shorter_is_read_from_its_beginning(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    append(path, line(1) * 50)
    _, offset = read_from(path, 0)
    path.write_bytes(line(7))
    assert numbers(read_from(path, offset)[0]) == [7]


@pytest.mark.parametrize("limit", [0, 1, 3, 99])
def test_the_last_events_come_oldest_first(tmp_path: Path, limit: int) -> None:
    path = tmp_path / "t.jsonl"
    append(path, b"".join(line(n, task_id=str(n % 2)) for n in range(10)))
    assert numbers(last(path, limit)) == list(range(10))[10 - min(limit, 10) :]
    of_one = [1, 3, 5, 7, 9]
    assert numbers(last(path, limit, "1")) == of_one[5 - min(limit, 5) :]


def test_the_last_events_are_found_across_blocks_and_in_long_lines(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    append(path, b"".join(line(n, pad="x" * (n * 7919 % 50_000)) for n in range(30)))
    append(path, line(30, pad="x" * 300_000) + line(31))
    assert numbers(last(path, 32)) == list(range(32))


@given(st.lists(st.dictionaries(st.text(), st.text(), max_size=3), max_size=8), st.integers(0, 9))
def test_every_text_comes_back_as_it_was_whatever_is_cut(
    tmp_path_factory: pytest.TempPathFactory, texts: list[dict[str, str]], cut: int
) -> None:
    path = tmp_path_factory.mktemp("t") / "t.jsonl"
    for text in texts:
        append(path, json.dumps({"event": "x", "data": text}, ensure_ascii=False).encode() + b"\n")
    if cut:
        append(path, b'{"event": "cut'[:cut])
        append(path, line(1))
    wanted = [*texts, *([None] if cut else [])]
    assert [event.get("data") for event in read_from(path, 0)[0]] == wanted
    assert [event.get("data") for event in last(path, 99)] == wanted
