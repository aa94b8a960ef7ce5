from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from loop.core.checks import MAX_TASK_BYTES, clean_text, convert, lenient
from loop.core.task import TaskFields
from loop.errors import BadInput


class Inner(Struct, frozen=True, forbid_unknown_fields=True):
    colour: str = "red"
    size: int = 1


class Outer(Struct, forbid_unknown_fields=True):
    name: str
    inner: Inner = Inner()
    many: list[Inner] = []


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"name": 5}, "name: give a text, not a whole number"),
        ({}, "name: is required"),
        ({"name": "a", "nmae": 1}, "nmae: unknown name; allowed: name, inner, many"),
        ({"name": "a", "inner": {"color": 1}}, "inner.color: unknown name; allowed: colour, size"),
        ({"name": "a", "many": [{}, {"x": 1}]}, "many[1].x: unknown name; allowed: colour, size"),
        ({"name": "a", "inner": {"size": "big"}}, "inner.size: give a whole number, not a text"),
        ("text", "give an object, not a text"),
    ],
)
def test_an_error_names_the_field_and_says_what_is_allowed(data: object, message: str) -> None:
    with pytest.raises(BadInput) as error:
        convert(data, Outer)
    assert str(error.value) == message


def test_the_place_of_the_whole_comes_first() -> None:
    with pytest.raises(BadInput, match=r"^tasks\[3\]\.inner\.size: "):
        convert({"name": "a", "inner": {"size": "big"}}, Outer, "tasks[3]")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"priority": "urgent"},
            "priority: is not one of: 'high', 'low', 'normal', a whole number",
        ),
        ({"priority": 1.5}, "priority: give a whole number or a text, not a number"),
        ({"max_turns": 0}, "max_turns: give a whole number >= 1"),
        ({"timeout_minutes": 1e9}, "timeout_minutes: give a number <= 1440"),
        ({"instructions": []}, "instructions: give a list of at least 1 entry"),
        ({"instructions": ["ok", 5]}, r"instructions\[1\]: give a text, not a whole number"),
        ({"model": "a\nb"}, "model: give a text without a line break"),
        ({"instruction": ["x"]}, "instruction: unknown name; allowed: instructions, title"),
    ],
)
def test_the_fields_of_a_task_are_checked_by_name(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        convert(fields, TaskFields)


@pytest.mark.parametrize(
    ("data", "field"),
    [
        ({"notes": "a\0b"}, "notes"),
        ({"instructions": ["fine", "a\0"]}, "instructions[1]"),
        ({"x": {"y": [{"z": "\ud800"}]}}, "x.y[0].z"),
        ({"bad\0key": 1}, ""),
        ({"bad\udfffkey": 1}, ""),
        ({"x": ("\udc00",)}, "x[0]"),
    ],
)
def test_what_is_no_text_is_refused_at_any_depth(data: dict[str, Any], field: str) -> None:
    with pytest.raises(BadInput) as error:
        clean_text(data)
    assert error.value.field == field
    str(error.value).encode()


def test_emoji_and_separators_are_text() -> None:
    clean_text({"notes": "👩‍💻 \u2028 \u0085 \x1b \r\n"})


def test_four_megabytes_pass_and_one_byte_more_does_not() -> None:
    clean_text({"a": "ü" * (MAX_TASK_BYTES // 2 - 1)})
    with pytest.raises(BadInput, match=r"more than 4 MB of text"):
        clean_text({"a": "ü" * (MAX_TASK_BYTES // 2)})


def test_nesting_without_end_is_an_error_and_no_crash() -> None:
    deep: list[Any] = []
    for _ in range(5000):
        deep = [deep]
    with pytest.raises(BadInput, match=r"^a: is nested more than 64 levels deep$"):
        clean_text({"a": deep})


@given(
    st.dictionaries(
        st.sampled_from(["colour", "size", "other"]), st.none() | st.text() | st.integers()
    )
)
def test_lenient_takes_what_fits_and_the_default_for_the_rest(data: dict[str, Any]) -> None:
    got = lenient(data, Inner)
    assert got.colour == (data["colour"] if isinstance(data.get("colour"), str) else "red")
    size = data.get("size")
    assert got.size == (size if isinstance(size, int) else 1)
