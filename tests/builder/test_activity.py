"""What the lines of a log tell of a Builder at work."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop.builder.activity import Activity


def line(kind: object, *blocks: object) -> bytes:
    return json.dumps({"type": kind, "message": {"content": blocks}}).encode() + b"\n"


def begin(tool: str) -> bytes:
    return line("assistant", {"type": "tool_use", "id": tool})


def finish(tool: str) -> bytes:
    return line("user", {"type": "tool_result", "tool_use_id": tool})


@pytest.mark.parametrize(
    ("kind", "replied"),
    [
        ("system", False),
        ("user", False),
        ("loop", False),
        ("assistant", True),
        ("result", True),
        ("rate_limit_event", True),
        ("stream_event", True),
    ],
)
def test_the_api_has_replied_when_a_line_could_not_exist_without_it(
    kind: str, replied: bool
) -> None:
    activity = Activity()
    activity.feed(line("system") + line(kind))
    assert activity.replied is replied


def test_tools_are_open_from_their_call_to_their_result() -> None:
    activity = Activity()
    activity.feed(begin("a") + begin("b") + finish("a") + finish("unknown"))
    assert activity.open_tools == {"b"}
    activity.feed(line("result"))
    assert activity.open_tools == set()


def test_a_result_is_there_until_a_message_follows_it() -> None:
    activity = Activity()
    activity.feed(line("result") + line("system"))
    assert activity.has_result
    activity.feed(line("user"))
    assert not activity.has_result


def test_a_line_counts_once_it_is_complete() -> None:
    activity = Activity()
    activity.feed(line("result")[:-1])
    assert not activity.has_result
    activity.feed(b"\n")
    assert activity.has_result


@given(st.lists(st.integers(1, 400), max_size=10))
def test_the_pieces_in_which_a_log_arrives_make_no_difference(cuts: list[int]) -> None:
    log = line("system") + begin("a") + begin("b") + finish("a") + b"no json\n" + b"\n"
    activity = Activity()
    at = 0
    for cut in [*cuts, len(log)]:
        activity.feed(log[at : at + cut])
        at += cut
    activity.feed(log[at:])
    assert (activity.replied, activity.open_tools) == (True, {"b"})


@pytest.mark.parametrize("piece_bytes", [1, 7, 10_000])
def test_a_line_that_is_too_long_is_passed_over_and_the_next_one_is_not(piece_bytes: int) -> None:
    long = line("result", "x" * 500)
    log = line("assistant") + long + begin("a")
    activity = Activity(longest_line_bytes=200)
    for at in range(0, len(log), piece_bytes):
        activity.feed(log[at : at + piece_bytes])
    assert not activity.has_result
    assert activity.open_tools == {"a"}


@pytest.mark.parametrize(
    "text",
    [
        b"null",
        b"[]",
        b'{"type":[]}',
        b'{"type":"assistant"}',
        b'{"type":"assistant","message":{"content":"text"}}',
        b'{"type":"assistant","message":{"content":[1,{"type":"tool_use","id":{}}]}}',
        b"[" * 100_000,
        b"9" * 10_000,
        b"\xff\xfe",
        b'{"type":"result"',
    ],
)
def test_a_line_of_another_shape_does_no_harm(text: bytes) -> None:
    activity = Activity()
    activity.feed(text + b"\n" + begin("a"))
    assert activity.open_tools == {"a"}
    assert not activity.has_result
