from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop.core.task import Task, decode_task, encode, priority_value, task_dict, task_from, title_of
from loop.errors import BadInput

NOW = datetime(2026, 7, 23, 10, 0, tzinfo=UTC)
DESIGN = {
    "id": "42", "author": "architect", "priority": "high", "type": "implementation",
    "target": "force-app/main/default/...",
    "instructions": ["Add a Profile Completion section", "Use existing flow X", "Do not modify Y"],
    "created_at": "2026-07-23T10:00:00Z",
}  # fmt: skip
TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=10,
)


def decoded(raw: dict[str, Any], task_id: str = "42") -> Task:
    return decode_task(json.dumps(raw).encode(), task_id, NOW)


def test_the_example_of_the_design_is_read_and_written_as_it_stands() -> None:
    written = task_dict(decoded(DESIGN))
    assert {k: v for k, v in written.items() if k != "run"} == DESIGN
    assert list(written)[:7] == list(DESIGN)


@pytest.mark.parametrize("instructions", ["Do it", ["Do it"]])
def test_a_dropped_file_needs_instructions_only_as_text_or_list(instructions: object) -> None:
    task = decoded({"instructions": instructions})
    assert task.instructions == ["Do it"]
    assert (task.id, task.author, task.priority, task.run, task.created_at) == (
        "42", "user", "normal", 1, NOW,
    )  # fmt: skip


def test_a_file_with_a_byte_order_mark_is_read_and_written_back_without_one() -> None:
    task = decode_task(b"\xef\xbb\xbf" + json.dumps(DESIGN).encode(), "42", NOW)
    assert encode(task_dict(task)).startswith(b"{")


def test_the_id_of_the_file_name_wins() -> None:
    assert decoded({"id": "7", "instructions": "x"}).id == "42"
    assert task_dict(decoded({"id": 7, "instructions": "x"}))["id"] == "42"


def test_fields_that_are_null_take_their_defaults() -> None:
    nulls = dict.fromkeys(["priority", "max_turns", "depends_on", "run"])
    task = decoded({"instructions": "x", **nulls})
    assert (task.priority, task.max_turns, task.depends_on, task.run) == ("normal", None, [], 1)


@given(st.dictionaries(st.text("xyz_-é", min_size=1), JSON, max_size=4))
def test_keys_that_are_not_ours_are_kept_and_written_back(extra: dict[str, Any]) -> None:
    task = decoded({"instructions": "x", **extra})
    again = decode_task(encode(task_dict(task)), "42", NOW)
    assert {k: v for k, v in task_dict(again).items() if k in extra} == extra
    assert again == task


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("instructions", 5), ("instructions", []), ("instructions", "  \n"), ("instructions", None),
        ("instructions", [["x"]]), ("priority", "urgent"), ("priority", True), ("priority", 10**7),
        ("title", 5), ("type", []), ("target", {}), ("depends_on", "1"), ("depends_on", {"a": 1}),
        ("max_turns", 0), ("max_turns", "20"), ("max_budget_usd", 0), ("max_budget_usd", -1),
        ("timeout_minutes", "30"), ("max_attempts", 21), ("model", ""), ("model", "a\nb"),
        ("created_at", "yesterday"), ("created_at", 5),
        ("created_at", "0001-01-01T00:00:00+02:00"), ("run", 0), ("run", -3), ("run", "1"),
        ("attempt", 0), ("acceptance", "make test"), ("acceptance_criteria", [1]), ("notes", 5),
        ("key", 5), ("runs", {}), ("guidance", "x"), ("requeues", "x"), ("fresh", "yes"),
        ("parent", "../1"), ("parent", []), ("author", 5), ("role", 5),
    ],
)  # fmt: skip
def test_a_field_of_the_wrong_kind_is_named(field: str, value: object) -> None:
    with pytest.raises(BadInput) as error:
        decoded({"instructions": ["x"], field: value})
    assert error.value.field.split("[")[0] == field


def test_a_file_without_instructions_says_that_they_are_required() -> None:
    with pytest.raises(BadInput, match=r"^instructions: is required$"):
        decoded({"title": "x"})


def test_wrong_instructions_are_told_both_that_they_may_be() -> None:
    with pytest.raises(BadInput, match=r"^instructions: give a text or a list, not a whole number"):
        decoded({"instructions": 3})


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the file is empty"),
        (b" \n\t", "the file is empty"),
        (b'{"instructions": "x"', "not valid JSON in UTF-8: "),
        (b'{"instructions": "\xff"}', "not valid JSON in UTF-8: "),
        (json.dumps(DESIGN).encode("utf-16"), "not valid JSON in UTF-8: "),
        (b"[]", "not a list"), (b"null", "not null"), (b'"x"', "not a text"),
        (b"5", "not a number"),
        (b"true", "not true or false"),
        (b'{"instructions": "a\0b"}', "not valid JSON in UTF-8: "),
        (b'{"instructions": "a\\u0000b"}', "instructions: holds a NUL"),
        (b'{"instructions": "\\ud800"}', "not valid JSON in UTF-8: "),
        (b'{"instructions": "' + b"x" * 5_000_000 + b'"}', "more than 4 MB of text"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"instructions":"x","a":' + b"[" * 99 + b"]" * 99 + b"}", "a: is nested more than 64"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_task_says_why(data: bytes, message: str) -> None:
    with pytest.raises(BadInput) as error:
        decode_task(data, "42", NOW)
    assert message in str(error.value)


def test_dependencies_are_understood_in_every_spelling_and_named_when_they_are_no_ids() -> None:
    task = decoded({"instructions": "x", "depends_on": [7, "0008", "9.1"], "parent": "0003"})
    assert (task.depends_on, task.parent) == (["7", "8", "9.1"], "3")
    for bad in (["a"], None, "1/2"):
        with pytest.raises(BadInput, match=r"^depends_on\[1\]: .* is not a task id"):
            decoded({"instructions": "x", "depends_on": ["1", bad]})


def test_a_time_without_a_zone_is_taken_for_utc() -> None:
    task = decoded({"instructions": "x", "created_at": "2026-07-23T10:00:00"})
    assert task_dict(task)["created_at"] == "2026-07-23T10:00:00Z"


def test_the_title_is_the_first_line_that_says_something() -> None:
    assert title_of(decoded({"instructions": ["\n \n  Add   it\nmore"]})) == "Add it"
    assert title_of(decoded({"instructions": ["a"], "title": "T"})) == "T"
    secret = title_of(decoded({"instructions": ["x " * 30 + "ghp_" + "aB3x" * 9]}))
    assert "aB3x" not in secret  # a cut secret would not be known for one
    long = title_of(decoded({"instructions": ["word " * 50]}))
    assert len(long) <= 72
    assert long.endswith("…")


def test_smaller_priorities_come_first() -> None:
    assert [priority_value(p) for p in ("high", "normal", "low", -3)] == [10, 50, 90, -3]


def test_a_task_made_by_the_program_is_checked_like_a_file() -> None:
    with pytest.raises(BadInput, match="half a surrogate pair"):
        task_from({"instructions": ["\ud83d"]}, "1", NOW)
