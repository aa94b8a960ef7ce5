from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop.core.task_id import checked_id, id_of_file, is_id, right_name, sort_key, stem
from loop.errors import BadInput

PARTS = st.lists(st.integers(1, 999_999), min_size=1, max_size=9)


@pytest.mark.parametrize(
    ("given_text", "task_id"),
    [
        ("42", "42"),
        ("0042", "42"),
        (" 42 ", "42"),
        (42, "42"),
        ("0042.json", "42"),
        ("42.1", "42.1"),
        ("0042.01", "42.1"),
        ("123456789", "123456789"),
    ],
)
def test_an_id_is_understood_in_the_spellings_that_people_use(
    given_text: object, task_id: str
) -> None:
    assert checked_id(given_text) == task_id


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0",
        "-1",
        "1.0",
        "1.",
        ".1",
        "1..2",
        "abc",
        "../../etc/passwd",
        "42/../43",
        "4 2",
        "42\n43",
        "٤٢",
        "１",
        "1234567890",
        None,
        True,
        4.2,
        ["42"],
        "1" + ".1" * 9,
        "42.json.json",
    ],
)
def test_anything_else_is_refused_before_it_becomes_a_path(text: object) -> None:
    with pytest.raises(BadInput, match=r"^task_id: .* is not a task id; give one like"):
        checked_id(text)


def test_the_message_about_a_wrong_id_stays_short() -> None:
    with pytest.raises(BadInput) as error:
        checked_id("9" * 100_000)
    assert len(str(error.value)) < 200


@pytest.mark.parametrize(
    ("task_id", "name"),
    [("7", "0007"), ("42.1", "0042.1"), ("12345", "12345"), ("3.10.2", "0003.10.2")],
)
def test_file_names_have_four_digits_or_more(task_id: str, name: str) -> None:
    assert stem(task_id) == name
    assert id_of_file(f"{name}.json") == task_id


@pytest.mark.parametrize(
    ("name", "right"),
    [("7.json", "0007.json"), ("00007.json", "0007.json"), ("0042.01.json", "0042.1.json")],
)
def test_a_wrong_spelling_is_no_task_file_and_the_right_one_can_be_said(
    name: str, right: str
) -> None:
    assert id_of_file(name) is None
    assert right_name(name) == right


@pytest.mark.parametrize(
    "name", ["task.json", "0000.json", "0042.json.bak", "0042", "0042 (1).json", "0042.0.json"]
)
def test_names_without_an_id_belong_to_no_task(name: str) -> None:
    assert id_of_file(name) is None
    if name != "0042":
        assert right_name(name) is None


def test_ids_are_ordered_by_number_part_by_part() -> None:
    ids = ["10", "2", "42.10", "42", "42.2", "42.1.1"]
    assert sorted(ids, key=sort_key) == ["2", "10", "42", "42.1.1", "42.2", "42.10"]


@given(PARTS)
def test_every_id_survives_the_way_to_its_file_name_and_back(parts: list[int]) -> None:
    task_id = ".".join(map(str, parts))
    assert is_id(task_id)
    assert id_of_file(f"{stem(task_id)}.json") == task_id
    assert checked_id(stem(task_id)) == task_id
    assert right_name(f"0{stem(task_id)}.json") == f"{stem(task_id)}.json"
