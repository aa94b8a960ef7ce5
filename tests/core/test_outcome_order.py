"""The order of the table of endings, and that it has an answer for everything."""

from __future__ import annotations

from datetime import UTC
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop.core.outcome import RETRIED, TABLE, Ending, classify, retry_follows
from tests.stream_lines import (
    api_error,
    init,
    limit_event,
    reported,
    result,
    says,
    synthetic,
    transcript,
    uses,
)

#: Each is true of one and the same run as well; the first must decide.
LAYERS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("could_not_start", {"could_not_start": "gone"}, {}),
    ("timeout", {"ended_by": "timeout"}, {}),
    ("login", {}, {"is_error": True, "terminal_reason": "api_error", "api_error_status": 401}),
    ("turn_limit", {}, {"is_error": True, "terminal_reason": "max_turns"}),
    ("needs_input", {}, {"structured_output": {"outcome": "needs_input", "question": "?"}}),
    ("reported", {}, {"structured_output": {"outcome": "failed", "summary": "x"}}),
    ("no_report", {}, {"structured_output": None}),
    ("denied", {"changed": ()}, {"permission_denials": [{"tool_name": "Bash"}]}),
    ("verification_failed", {"red_after_green": True}, {}),
]


@pytest.mark.parametrize("first", range(len(LAYERS)))
def test_the_first_row_that_fits_decides(first: int) -> None:
    facts: dict[str, Any] = {"exit": 1}
    line = reported()
    for _, known, fields in reversed(LAYERS[first:]):
        facts |= known
        line |= fields
    assert classify(Ending(transcript=transcript(line), **facts)).reason == LAYERS[first][0]


def test_the_table_knows_each_reason_that_is_tried_again() -> None:
    assert {reason for reason, _, _ in TABLE} >= RETRIED


NUMBERS = st.none() | st.integers(-2, 600) | st.floats(allow_nan=False, allow_infinity=False)
TEXTS = st.none() | st.text(max_size=20) | st.sampled_from(["api_error", "max_turns", "completed"])
REPORTS = st.none() | st.dictionaries(
    st.sampled_from(["outcome", "summary", "question", "options", "files_changed", "subtasks"]),
    TEXTS
    | st.lists(TEXTS)
    | st.sampled_from(["done", "needs_input", "failed", "no_change_needed"]),
)
RESULTS = st.builds(
    result,
    is_error=st.booleans() | st.none(),
    subtype=TEXTS,
    terminal_reason=TEXTS,
    api_error_status=NUMBERS,
    result=TEXTS,
    structured_output=REPORTS,
    permission_denials=st.lists(
        st.fixed_dictionaries(
            {"tool_name": TEXTS, "tool_input": st.none() | st.dictionaries(TEXTS.map(str), TEXTS)}
        )
    ),
)
LINES = st.one_of(
    RESULTS,
    st.builds(init),
    st.builds(says, st.text() | st.just("NEEDS_CLARIFICATION: x")),
    st.builds(uses, st.just("StructuredOutput"), REPORTS.map(lambda report: report or {})),
    st.builds(synthetic, st.sampled_from(["billing_error", "rate_limit", "server_error"])),
    st.builds(limit_event, st.sampled_from(["allowed", "rejected"]), NUMBERS),
    st.builds(
        api_error,
        st.sampled_from([None, 400, 401, 404, 429, 500, 529]),
        st.text()
        | st.from_regex(
            r"hit your limit · resets (Feb \d\d(, \d{4})? at )?\d{1,2}:\d\d[ap]m", fullmatch=True
        )
        | st.from_regex(r"usage limit reached\|[0-9]{9,11}", fullmatch=True),
    ),
)
ENDINGS = st.builds(
    Ending,
    transcript=st.lists(LINES, max_size=4).map(lambda lines: transcript(*lines)),
    mode=st.sampled_from(["schema", "marker"]),
    could_not_start=st.none() | st.text(),
    ended_by=st.none()
    | st.sampled_from(["timeout", "silent", "cancelled", "interrupted", "lingering", "?"]),
    exit=st.none() | st.integers(-9, 300),
    signal=st.none() | st.integers(1, 31),
    stderr=st.text(),
    changed=st.none() | st.lists(st.text()).map(tuple),
    refusals=st.integers(0, 3),
    readme_missing=st.booleans(),
    swept=st.lists(st.text()).map(tuple),
    red_after_green=st.booleans(),
    judged_at=st.none() | st.datetimes(timezones=st.just(UTC)),
)


@given(ENDINGS)
def test_every_ending_means_something(ending: Ending) -> None:
    outcome = classify(ending)
    assert outcome.status in ("success", "failure", "needs_input", "paused")
    assert outcome.reason
    assert outcome.summary
    assert outcome.status != "success" or ending.transcript.ended is not None
    assert outcome.status != "needs_input" or outcome.remarks is not None
    assert outcome.until is None or outcome.status == "paused"


@given(
    st.sampled_from(sorted({reason for reason, _, _ in TABLE})),
    st.integers(1, 20),
    st.none() | st.sampled_from(sorted(RETRIED)),
)
def test_attempts_come_to_an_end(reason: str, most: int, last: str | None) -> None:
    assert not retry_follows(reason, most, most, last)
    assert not retry_follows(reason, 1, most, reason)


@pytest.mark.parametrize(
    ("reason", "attempt", "last", "again"),
    [
        ("interrupted", 1, None, True), ("interrupted", 2, "interrupted", False),
        ("no_reply", 1, None, True), ("silent", 2, "no_reply", True),
        ("api_error", 2, "api_error", False), ("damaged_output", 1, None, True),
        ("verification_failed", 3, "silent", False), ("verification_failed", 2, None, True),
        ("timeout", 1, None, False), ("denied", 1, None, False), ("turn_limit", 1, None, False),
        ("cancelled", 1, None, False), ("reported", 1, None, False),
        ("needs_input", 1, None, False),
        ("could_not_start", 1, None, False), ("prompt_too_long", 1, None, False),
        ("budget", 1, None, False), ("no_report", 1, None, False), ("success", 1, None, False),
    ],
)  # fmt: skip
def test_the_worker_tries_again_only_where_that_can_help(
    reason: str, attempt: int, last: str | None, again: bool
) -> None:
    assert retry_follows(reason, attempt, 3, last) is again
