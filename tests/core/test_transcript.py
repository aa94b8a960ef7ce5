from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop.core.marker import question_in
from loop.core.transcript import Transcript
from tests.stream_lines import (
    init,
    limit_event,
    reported,
    result,
    says,
    synthetic,
    transcript,
    uses,
)


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("NEEDS_CLARIFICATION: A or B?", "A or B?"),
        ("Looked.\nNEEDS_CLARIFICATION: A or B?\n- A\n- B\n", "A or B?\n- A\n- B"),
        ("a\r\nNEEDS_CLARIFICATION: x", "x"),
        ("NEEDS_CLARIFICATION:", "(the question is empty)"),
        ("```\ncode\n```\nNEEDS_CLARIFICATION: x", "x"),
        ("Use ```inline``` so\n```inline``` too\nNEEDS_CLARIFICATION: x", "x"),
        ("~~~~\n~~~\nNEEDS_CLARIFICATION: no\n~~~~\nNEEDS_CLARIFICATION: yes", "yes"),
        ("I would write NEEDS_CLARIFICATION: x", None),
        (" NEEDS_CLARIFICATION: x", None),
        ("> NEEDS_CLARIFICATION: x", None),
        ("```\nNEEDS_CLARIFICATION: x\n```", None),
        ("```python\nNEEDS_CLARIFICATION: x", None),
        ("````\n```\nNEEDS_CLARIFICATION: x\n```\n````", None),
        ("Do you want A?", None),
        ("", None),
    ],
)
def test_the_marker_counts_at_the_start_of_a_line_outside_fences(
    text: str, question: str | None
) -> None:
    assert question_in(text) == question


@given(st.text())
def test_whatever_follows_the_marker_is_kept_word_for_word(text: str) -> None:
    expected = text.strip() or "(the question is empty)"
    assert question_in(f"Hm.\nNEEDS_CLARIFICATION:{text}") == expected


def test_the_marker_counts_in_any_message_of_the_run() -> None:
    facts = transcript(
        init(), says("NEEDS_CLARIFICATION: A or B?"), says("Went on.", "msg_2"), result()
    )
    assert facts.question == "A or B?"
    assert facts.last_text == "Went on."


def test_a_subagent_asks_nobody_and_is_no_reply() -> None:
    facts = transcript(init(), says("NEEDS_CLARIFICATION: A?", parent_tool_use_id="toolu_1"))
    assert (facts.question, facts.replies, facts.last_text) == (None, 0, "")


def test_the_report_is_the_last_one_that_is_there_and_the_ending_the_last_result_line() -> None:
    facts = transcript(
        init(), reported(), result(num_turns=5, is_error=True, structured_output=None)
    )
    assert facts.report is not None
    assert facts.report["outcome"] == "done"
    assert facts.ended is not None
    assert (facts.ended.turns, facts.ended.is_error) == (5, True)
    later = transcript(reported("done"), reported("failed"), result())
    assert later.report is not None
    assert later.report["outcome"] == "failed"


def test_what_the_result_line_says_is_gathered() -> None:
    denial = {"tool_name": "Bash", "tool_input": {"command": "curl x"}}
    refused = {"tool_name": "StructuredOutput", "tool_input": {"outcome": "done"}}
    facts = transcript(init(), result(permission_denials=[denial, refused, "odd"]))
    assert facts.ended is not None
    assert facts.ended.session_cost_usd == 0.25
    assert facts.denials == [denial]
    assert (facts.session_id, facts.claude_version) == (init()["session_id"], "2.1.332")


def test_blocks_of_one_message_are_one_reply() -> None:
    facts = transcript(
        init(), says("a", "m1"), uses("Bash", {"command": "ls"}, "m1"), says("b", "m2")
    )
    assert facts.replies == 2


def test_the_last_action_is_told_in_a_few_words() -> None:
    assert transcript(uses("Edit", {"file_path": "/p/a.py"})).last_action == "Edit /p/a.py"
    assert (
        transcript(uses("StructuredOutput", {"outcome": "done"})).last_action == "gives its report"
    )
    long = transcript(says("word " * 100)).last_action
    assert long is not None
    assert len(long) <= 80


def test_the_report_that_was_handed_in_is_known_also_when_it_was_not_accepted() -> None:
    facts = transcript(uses("StructuredOutput", {"outcome": "done", "summary": "x"}))
    assert facts.report is None
    assert facts.report_given == {"outcome": "done", "summary": "x"}


def test_an_error_of_the_api_is_no_reply_of_the_model() -> None:
    facts = transcript(init(), synthetic("billing_error", "NEEDS_CLARIFICATION: money"))
    assert (facts.replies, facts.error, facts.question, facts.last_text) == (
        0,
        "billing_error",
        None,
        "",
    )


def test_the_reset_time_is_the_last_that_was_said() -> None:
    facts = transcript(
        limit_event("allowed", 100), limit_event("rejected", 200), limit_event("rejected")
    )
    assert facts.limit_reset == 200


@pytest.mark.parametrize(
    "line",
    [b'{"type":"assi', b"\xff\xfe", b"not json", b"[" * 100_000, b'{"a":1}{"b":2}'],
)
def test_damaged_lines_are_counted_and_passed_over(line: bytes) -> None:
    facts = Transcript()
    for each in (json.dumps(init()).encode(), line, json.dumps(result()).encode()):
        facts.feed(each)
    assert (facts.damaged, facts.lines) == (1, 2)
    assert facts.ended is not None


@pytest.mark.parametrize("line", [b"", b"  ", b'{"type":"loop","run":"x"}', b"5", b"[]", b"null"])
def test_lines_that_are_not_of_claude_code_say_nothing(line: bytes) -> None:
    facts = Transcript()
    facts.feed(line)
    assert facts == Transcript()


ODD = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-9, 9)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["id", "content", "type", "text", "input", "name", "resetsAt", "model"]
            ),
            inner,
        )
    ),
    max_leaves=8,
)


@given(
    st.sampled_from(["system", "assistant", "user", "result", "rate_limit_event", "other"]),
    st.dictionaries(
        st.sampled_from(
            [
                "message",
                "structured_output",
                "permission_denials",
                "rate_limit_info",
                "session_id",
                "total_cost_usd",
                "num_turns",
                "result",
                "subtype",
                "api_error_status",
                "error",
            ]
        ),
        ODD,
    ),
)
def test_no_line_whatever_its_shape_stops_the_reading(kind: str, fields: dict[str, object]) -> None:
    facts = transcript({"type": kind, **fields}, result())
    assert facts.lines == 2
    assert facts.damaged == 0
