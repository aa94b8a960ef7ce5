"""The compact context: bounded for any queue, the most useful kept, and what was cut is said."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop.core.context import (
    HEADINGS,
    LEAST_BYTES,
    PARTS,
    Known,
    compact_context,
    context_text,
    encode_context,
)

TEXTS = st.builds(
    lambda piece, times: piece * times,
    st.sampled_from(["a", "word ", "é", "😀", "\n", '"\\', "\x00", "\u2028", "日本"]),
    st.integers(0, 500),
)
LINES = st.lists(TEXTS, max_size=6)
KNOWN = st.builds(
    Known,
    id=st.sampled_from(["1", "41", "7.1", "123456789"]),
    title=TEXTS,
    status=st.sampled_from(["queued", "success", "failure"]),
    role=st.sampled_from([None, "", "architect"]),
    notes=st.none() | TEXTS,
)
TASKS = st.fixed_dictionaries(
    {"id": st.just("42"), "instructions": LINES},
    optional={"title": TEXTS, "notes": TEXTS, "priority": st.integers(0, 9), "own key": LINES},
)
CONTEXTS = st.builds(
    compact_context,
    TASKS,
    parent=st.none() | KNOWN,
    dependencies=st.lists(KNOWN, max_size=4),
    siblings=st.lists(KNOWN, max_size=3),
    others=st.builds(lambda known, times: known * times, st.lists(KNOWN, max_size=3),
                     st.sampled_from([0, 1, 100])),
    counts=st.dictionaries(st.sampled_from(["queued", "running"]), st.integers(0, 9999)),
    relevant=LINES,
    recent=LINES,
    index=LINES,
)  # fmt: skip


def decoded(context: dict[str, Any], max_bytes: int, more: int = 0) -> Any:
    data = encode_context(context, max_bytes, more=more)
    assert len(data) <= max_bytes
    return json.loads(data.decode("utf-8", "strict"))


@given(CONTEXTS, st.integers(LEAST_BYTES, 20_000), st.sampled_from([0, 0, 3, 99_999]))
def test_it_is_never_larger_than_its_bound_and_says_what_it_cut(
    context: dict[str, Any], max_bytes: int, more: int
) -> None:
    made = decoded(context, max_bytes, more)
    assert list(made) == [*(key for key, _ in PARTS), "cut"]
    changed = {key for key, _ in PARTS if made[key] != context[key]}
    changed |= {"other_tasks"} if more else set()
    assert {words.partition(":")[0] for words in made["cut"]} == changed
    assert made["current_task"]["id"] == "42"


@given(CONTEXTS, st.integers(0, 6000), st.sampled_from([0, 99_999]))
def test_the_text_for_the_prompt_is_never_larger_than_its_bound(
    context: dict[str, Any], max_bytes: int, more: int
) -> None:
    assert len(context_text(context, max_bytes, more=more).encode()) <= max_bytes


@given(st.integers(0, 600), st.integers(0, 90), st.integers(0, 120), st.integers(0, 40))
def test_at_the_very_edge_of_the_bound_every_byte_is_counted(
    words: int, title: int, notes: int, lines: int
) -> None:
    known = Known("1", "t" * title, "queued", notes="é" * notes)
    context = compact_context(
        {"id": "42", "instructions": ["a" * words]}, parent=known, dependencies=[known] * 2,
        siblings=[known], counts={"queued": 1}, recent=["line"] * lines, protocol=(),
    )  # fmt: skip
    whole = len(encode_context(context, 1_000_000))
    for max_bytes in (whole - 1, whole, whole + 1):
        if max_bytes >= LEAST_BYTES:
            assert bool(decoded(context, max_bytes)["cut"]) == (max_bytes < whole)


@given(CONTEXTS)
def test_with_room_enough_nothing_is_cut(context: dict[str, Any]) -> None:
    assert decoded(context, 2_000_000) == context | {"cut": []}


def test_ten_thousand_tasks_leave_room_for_what_is_more_useful() -> None:
    context = compact_context(
        {"id": "42", "title": "T", "instructions": ["Do it"]},
        dependencies=[Known("41", "Design", "success", "architect", "Use a map. " * 100)],
        others=[Known(str(n), f"Task {n}", "queued") for n in range(100, 10_100)],
        counts={"queued": 10_000},
        recent=[f"line {n}" for n in range(20)],
    )
    made = decoded(context, 8192)
    assert made["dependency_tasks"] == context["dependency_tasks"]
    assert made["recent_progress"] == context["recent_progress"]
    kept = len(made["other_tasks"])
    assert 20 < kept < 10_000
    assert made["other_tasks"] == context["other_tasks"][:kept]
    assert made["cut"] == [f"other_tasks: {kept} of 10000"]


def test_a_huge_task_is_cut_but_leaves_the_notes_it_stands_on() -> None:
    context = compact_context(
        {"id": "42", "title": "T", "instructions": ["x" * 1_000_000, "y"]},
        dependencies=[Known("41", "Design", "success", notes="The notes.")],
    )
    made = decoded(context, 4096)
    assert made["current_task"]["title"] == "T"
    text = made["current_task"]["instructions"][0]
    assert text.endswith("x…") and len(text) > 1000
    assert made["dependency_tasks"][0]["notes"] == "The notes."
    assert made["cut"] == ["current_task: 3 of 3 fields"]


def test_long_notes_of_one_task_do_not_push_out_those_of_another() -> None:
    context = compact_context(
        {"id": "42", "instructions": ["Do it"]},
        dependencies=[
            Known("40", "Long", "success", notes="é" * 50_000),
            Known("41", "Short", "success", notes="The short one."),
            Known("42", "Long", "success", notes="é" * 40_000),
            Known("43", "Long", "success", notes="é" * 40_000),
        ],
    )
    long, short, *others = decoded(context, 8192)["dependency_tasks"]
    assert all(abs(len(other["notes"]) - len(long["notes"])) < 5 for other in others)
    assert short["notes"] == "The short one."
    assert long["notes"].endswith("é…") and len(long["notes"]) > 500


def test_a_log_that_does_not_fit_loses_its_oldest_lines() -> None:
    lines = [f"{n:04d} {'z' * 60}" for n in range(500)]
    made = decoded(compact_context({"id": "42"}, recent=lines), 8192)
    kept = made["recent_progress"]
    assert kept[-1] == lines[-1] and lines[-50] in kept and lines[0] not in kept


def test_no_line_is_longer_than_an_entry() -> None:
    others = [Known(str(n), "t" * 70, "queued") for n in range(1, 200)]
    data = encode_context(compact_context({"id": "42"}, others=others), 8192)
    assert max(map(len, data.splitlines())) < 200


def test_a_bound_that_holds_no_context_is_refused() -> None:
    with pytest.raises(ValueError, match="1024"):
        encode_context(compact_context({"id": "42"}), 1023)


def test_the_prompt_hears_all_that_the_file_says_but_the_task_itself() -> None:
    context = compact_context(
        {"id": "42.2", "instructions": ["not again"]},
        parent=Known("42", "The whole", "queued"),
        dependencies=[Known("41", "Design", "success", "architect", "Use a map.")],
        siblings=[Known("42.1", "First part", "success")],
        others=[Known("7", "Another", "blocked")],
        counts={"queued": 3, "settled": 1},
        relevant=["task: 42.2 Second part"],
        recent=["task: 40 Before"],
        index=["# Project index", "", "Made now."],
        protocol=["Look first."],
    )
    assert context_text(context, 8192) == (
        "Tasks that this one stands on, and what they left for it:\n"
        "- 41 (architect, success) Design\n"
        "Use a map.\n\n"
        "It is a part of this task:\n- 42 (queued) The whole\n\n"
        "The other parts of that task:\n- 42.1 (success) First part\n\n"
        "From the handoff log, about this task:\ntask: 42.2 Second part\n\n"
        "The queue:\n3 queued, 1 settled\n\n"
        "How to go about it:\nLook first.\n\n"
        "The end of the handoff log:\ntask: 40 Before\n\n"
        "From the project index:\n# Project index\nMade now.\n\n"
        "Other tasks:\n- 7 (blocked) Another"
    )
    assert HEADINGS.keys() | {"current_task"} == dict(PARTS).keys()


@given(CONTEXTS, st.integers(300, 3000))
def test_a_small_bound_of_the_prompt_goes_to_what_is_most_useful(
    context: dict[str, Any], max_bytes: int
) -> None:
    context["dependency_tasks"] = [{"id": "1", "title": "T", "status": "success", "notes": "N" * 9}]
    assert context_text(context, max_bytes).startswith(
        f"{HEADINGS['dependency_tasks']}\n- 1 (success) T\n{'N' * 9}"
    )


def test_tasks_that_were_not_even_given_are_counted_as_cut() -> None:
    context = compact_context({"id": "42"}, others=[Known("7", "Another", "queued")], protocol=())
    made = json.loads(encode_context(context, 8192, more=9_998))
    assert made["cut"] == ["other_tasks: 1 of 9999"]
    assert made["other_tasks"] == context["other_tasks"]
    assert context_text(context, 8192, more=9_998).endswith("Another\n(shortened: 1 of 9999)")


@pytest.mark.parametrize("max_bytes", range(200, 2000, 61))
def test_where_nearly_everything_is_cut_each_byte_of_the_prompt_counts(max_bytes: int) -> None:
    line = "x" * 10_000
    known = Known("1", "", "queued", notes=line)
    context = compact_context(
        {}, dependencies=[known], parent=known, relevant=[line], recent=[line], index=[line],
        protocol=[line],
    )  # fmt: skip
    text = context_text(context, max_bytes, more=9)
    assert max_bytes // 3 < len(text.encode()) <= max_bytes
