from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop.core.prompt import compose
from loop.core.task import Run, Task

NOW = datetime(2026, 7, 23, tzinfo=UTC)
ORDER = "Carry out task 42 now, completely, and end with your report.\n"


def a_task(*instructions: str, **fields: Any) -> Task:
    return Task(id="42", instructions=list(instructions), created_at=NOW, **fields)


def prompt(task: Task, *, continued: bool = False, context: str = "", left: str = "") -> str:
    return compose(
        task, project="shop", continued=continued, context=context, left=left, prefix="feature"
    )


@pytest.mark.parametrize("text", ["/clear", "/loop:stop\n/clear", "\n\n/clear", "-x", "!ls", "# a"])
def test_the_first_line_is_ours_whatever_the_instructions_begin_with(text: str) -> None:
    first = prompt(a_task(text)).splitlines()[0]
    assert first.startswith("Task 42 in shop: ")
    assert prompt(a_task("x", title="/clear")).startswith("Task 42 in shop: /clear")


@pytest.mark.parametrize("continued", [False, True])
def test_the_last_line_is_an_order(continued: bool) -> None:
    task = a_task("x", notes="n", guidance=["g"], note_to_run="w")
    assert prompt(task, continued=continued, context="much\nmore").endswith("\n" + ORDER)


@given(st.text(st.characters(codec="utf-8"), min_size=1))
def test_instructions_arrive_byte_for_byte(text: str) -> None:
    assert f"- {text}\n".encode() in prompt(a_task("first", text)).encode()


@pytest.mark.parametrize(
    "text", ["a\u2028b\u2029c\u0085d", "👩‍💻🇩🇪é", "tab\tcr\r\nlf", "x" * 1_000_000]
)
def test_odd_and_long_instructions_arrive_byte_for_byte(text: str) -> None:
    assert text.encode() in prompt(a_task(text)).encode()


def test_everything_that_the_task_says_is_in_the_prompt() -> None:
    task = a_task(
        "do", target="src/", type="bugfix", acceptance_criteria=["it works"],
        acceptance=["make test"], notes="mind the gap",
    )  # fmt: skip
    text = prompt(task, context="From task 41: done")
    for part in ("src/", "bugfix", "it works", "make test", "mind the gap", "From task 41: done"):
        assert part in text


def a_run(number: int, **fields: Any) -> Run:
    return Run(number=number, uuid=f"u{number}", started=NOW, **fields)


def test_a_fresh_run_is_told_what_happened_before_and_a_continued_one_is_not() -> None:
    runs = [
        a_run(1, status="needs_input", reason="needs_input", said="A or B?"),
        a_run(2, status="failure", reason="silent", said="Nothing."),
        a_run(3, status="paused", reason="login", said="Not logged in"),
        a_run(4),
    ]
    task = a_task("x", runs=runs, guidance=["Take A.", "Take B after all."])
    fresh = prompt(task)
    for part in ("run 1: needs_input", "A or B?", "silent", "Take A.", "Take B after all."):
        assert part in fresh
    assert "Not logged in" not in fresh
    continued = prompt(task, continued=True)
    assert "A or B?" not in continued
    assert "The Architect says:\nTake B after all." in continued
    assert "earlier run of the same task" in continued


def test_another_attempt_is_told_what_happened_to_the_last() -> None:
    task = a_task("x", guidance=["Take A."], attempt=2, note_to_run="It was interrupted.")
    text = prompt(task)
    assert "About the last attempt: It was interrupted." in text
    assert "The Architect had said:\nTake A." in text
    assert "\n\nEarlier runs changed: a.\n\n" in prompt(task, left="Earlier runs changed: a.")


def test_commits_are_asked_for_with_the_prefix_of_the_role() -> None:
    titles = [prompt(a_task("Do it\nwell", role=role)) for role in (None, "tester", "architect")]
    for text, prefix in zip(titles, ("feature", "test", "design"), strict=True):
        assert f"\n\nCommits of this task are titled: {prefix}(42): Do it\n\n" in text
