"""Splitting a task by a report: what becomes a subtask, and what it takes over."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop.core.split import parts_of, split_task, usable_parts
from loop.core.task import Task, decode_task, encode, task_dict
from loop.errors import BadInput

NOW = datetime(2026, 7, 23, tzinfo=UTC)


def a_task(task_id: str = "42", **fields: Any) -> Task:
    return Task(id=task_id, instructions=["The whole"], created_at=NOW, **fields)


def test_parts_take_over_role_priority_and_limits_and_stand_after_those_there_are() -> None:
    limits: dict[str, Any] = {
        "role": "tester", "priority": 3, "target": "src/", "type": "bugfix", "model": "m",
        "max_attempts": 2, "timeout_minutes": 5.0, "max_turns": 7, "max_budget_usd": 0.5,
    }  # fmt: skip
    task = a_task(children=2, key="k", notes="n", guidance=["g"], **limits)
    given = [{"title": "A", "instructions": ["Do a"], "acceptance_criteria": ["It is"]}, "Do b"]
    first, second = parts_of(task, given, NOW)
    assert (first.id, first.title, first.instructions) == ("42.3", "A", ["Do a"])
    assert first.acceptance_criteria == ["It is"]
    assert (second.id, second.title, second.instructions) == ("42.4", None, ["Do b"])
    for part in (first, second):
        assert {name: getattr(part, name) for name in limits} == limits
        assert (part.parent, part.author, part.depends_on) == ("42", "builder", [])
        assert (part.key, part.notes, part.guidance) == (None, None, [])


def test_what_the_whole_must_pass_goes_to_the_last_part_which_waits_for_the_others() -> None:
    first, second = parts_of(a_task(acceptance=["make"]), ["a", "b"], NOW)
    assert (first.acceptance, first.depends_on) == ([], [])
    assert (second.acceptance, second.depends_on) == (["make"], ["42.1"])


ANYTHING = st.recursive(
    st.none() | st.integers() | st.text(max_size=9) | st.just("\0") | st.just("x" * 999),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["title", "instructions", "acceptance_criteria", "id"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=9,
)


@given(st.lists(ANYTHING, max_size=4))
def test_whatever_a_report_says_each_part_with_words_is_a_task_that_can_be_read(
    subtasks: list[Any],
) -> None:
    parts = parts_of(a_task(), subtasks, NOW)
    assert len(parts) == len(usable_parts(subtasks))
    for part in parts:
        assert decode_task(encode(task_dict(part)), part.id, NOW) == part
        assert any(text.strip() for text in part.instructions)


@pytest.mark.parametrize(
    "empty", [None, {}, "", " \n", [], {"title": "", "instructions": [" "]}, 7]
)
def test_a_part_that_says_nothing_is_none(empty: Any) -> None:
    assert usable_parts([empty]) == []


def test_a_title_alone_says_what_to_do() -> None:
    (part,) = parts_of(a_task(), [{"title": " Move\nthe form ", "instructions": []}], NOW)
    assert (part.title, part.instructions) == ("Move the form", ["Move the form"])


def test_where_ids_go_no_deeper_the_split_is_refused() -> None:
    assert parts_of(a_task("1.1.1.1.1.1.1.1"), ["a"], NOW)[0].id == "1.1.1.1.1.1.1.1.1"
    with pytest.raises(BadInput, match="split too deeply"):
        parts_of(a_task("1.1.1.1.1.1.1.1.1"), ["a"], NOW)


def test_the_parent_hands_on_what_its_run_noted() -> None:
    parts = parts_of(a_task(), ["a", "b"], NOW)
    parent = split_task(a_task(notes="Asked for."), parts, "Found out.")
    assert (parent.children, parent.notes) == (2, "Asked for.\n\nFound out.")
    assert split_task(a_task(), parts, None).notes is None
