"""Every row of the table of endings, from lines as Claude Code prints them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Literal

import pytest

from loop.core.outcome import Ending, Outcome, classify
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

Mode = Literal["schema", "marker"]
DENIAL = {"tool_name": "Bash", "tool_use_id": "t", "tool_input": {"command": "curl http://x"}}
LIMITED = {
    "is_error": True, "subtype": "error_max_turns", "terminal_reason": "max_turns", "result": None,
}  # fmt: skip
BUDGET = {
    "is_error": True, "subtype": "error_max_budget_usd", "terminal_reason": "budget_exhausted",
}  # fmt: skip
RETRIES = {
    "is_error": True, "subtype": "error_max_structured_output_retries",
    "terminal_reason": "structured_output_retry_exhausted",
}  # fmt: skip
ABORTED = {
    "is_error": True, "subtype": "error_during_execution", "terminal_reason": "aborted_tools",
}  # fmt: skip
LOGIN = "Not logged in · Please run /login"
HIT = "You've hit your 5-hour limit · resets 10:17pm (UTC)"


def judged(*lines: dict[str, Any], mode: Mode = "schema", **facts: Any) -> Outcome:
    known: dict[str, Any] = {"exit": 0, "changed": ("a.py",), **facts}
    return classify(Ending(transcript=transcript(*lines), mode=mode, **known))


#: name of the row, status, lines, facts
BOTH: list[tuple[str, str, list[dict[str, Any]], dict[str, Any]]] = [
    ("could_not_start", "failure", [], {"could_not_start": "no such file", "exit": None}),
    ("could_not_start", "failure", [], {"exit": 1, "stderr": "error: unknown option '--x'"}),
    ("could_not_start", "failure", [], {"exit": 127}),
    ("timeout", "failure", [init()], {"ended_by": "timeout", "exit": 143}),
    ("timeout", "failure", [init(), result(**ABORTED)], {"ended_by": "timeout"}),
    ("no_reply", "failure", [init()], {"ended_by": "no_reply"}),
    ("silent", "failure", [init(), says("Hm")], {"ended_by": "silent"}),
    ("cancelled", "failure", [init()], {"ended_by": "cancelled"}),
    ("interrupted", "failure", [init()], {"ended_by": "interrupted", "exit": 143}),
    ("interrupted", "failure", [init()], {"exit": 143}),
    ("interrupted", "failure", [], {"exit": 143}),
    ("interrupted", "failure", [init()], {"exit": None, "signal": 9}),
    ("interrupted", "failure", [init()], {"exit": None}),
    ("interrupted", "failure", [], {"exit": None}),
    ("interrupted", "failure", [init(), result(**ABORTED)], {"exit": 0}),
    ("damaged_output", "failure", [init(), says("NEEDS_CLARIFICATION: x")], {"exit": 0}),
    ("damaged_output", "failure", [], {"exit": 0}),
    ("damaged_output", "failure", [init()], {"exit": 1}),
    ("login", "paused", [api_error(None, LOGIN)], {"exit": 1}),
    ("login", "paused", [api_error(401, "Invalid API key · Fix external API key")], {"exit": 1}),
    ("login", "paused", [synthetic("authentication_failed"), api_error(None, "?")], {"exit": 1}),
    ("login", "paused", [api_error(None, "OAuth session expired")], {"exit": 1}),
    ("credit", "paused", [api_error(402, "Payment required")], {"exit": 1}),
    ("credit", "paused", [synthetic("billing_error"), api_error(400, "?")], {"exit": 1}),
    ("credit", "paused", [api_error(400, "Credit balance is too low")], {"exit": 1}),
    ("usage_limit", "paused", [api_error(429, HIT, api_error="usage_limit_reached")], {"exit": 1}),
    ("usage_limit", "paused", [api_error(429, HIT)], {"exit": 1}),
    ("usage_limit", "paused", [api_error(None, "You've hit your session limit")], {"exit": 1}),
    ("usage_limit", "paused", [api_error(None, "You've hit your limit · x")], {"exit": 1}),
    ("usage_limit", "paused", [api_error(None, "Weekly limit reached · x")], {"exit": 1}),
    ("rate_limit", "paused", [api_error(429, "API Error: Request rejected (429)")], {"exit": 1}),
    ("rate_limit", "paused", [limit_event("rejected"), api_error(
        429, "Server is temporarily limiting requests (not your usage limit)")], {"exit": 1}),
    ("overload", "paused", [synthetic("server_error"), api_error(529, "Overloaded")], {"exit": 1}),
    ("overload", "paused", [api_error(503, "unavailable")], {"exit": 1}),
    ("turn_limit", "failure", [says("Hm"), result(**LIMITED)], {"exit": 1}),
    ("budget", "failure", [says("Hm"), result(**BUDGET)], {"exit": 1}),
    ("prompt_too_long", "failure", [
        api_error(400, "Too long") | {"terminal_reason": "prompt_too_long"}], {"exit": 1}),
    ("no_report", "failure", [says("Hm"), result(**RETRIES)], {"exit": 1}),
    ("api_error", "failure", [api_error(500, "Internal error")], {"exit": 1}),
    ("api_error", "failure", [api_error(404, "no model x")], {"exit": 1}),
    ("api_error", "failure", [api_error(None, "Connection refused")], {"exit": 1}),
    ("api_error", "failure", [api_error(500, "x") | {"is_error": False}], {"exit": 0}),
    ("needs_input", "needs_input", [
        says("NEEDS_CLARIFICATION: A?"), says("ok", "m2"), reported()], {}),
]  # fmt: skip


@pytest.mark.parametrize("mode", ["schema", "marker"])
@pytest.mark.parametrize(("reason", "status", "lines", "facts"), BOTH)
def test_a_row_of_the_table_holds_in_both_modes(
    reason: str, status: str, lines: list[dict[str, Any]], facts: dict[str, Any], mode: Mode
) -> None:
    outcome = judged(*lines, mode=mode, **facts)
    assert (outcome.status, outcome.reason) == (status, reason)
    assert outcome.summary
    assert "None" not in outcome.summary


@pytest.mark.parametrize(
    ("reason", "status", "lines", "facts"),
    [
        ("needs_input", "needs_input", [reported("needs_input", question="A?")], {}),
        ("reported", "failure", [reported("failed")], {}),
        ("no_report", "failure", [says("Done."), result()], {}),
        ("no_report", "failure", [reported(summary=" ")], {}),
        ("no_report", "failure", [result(structured_output={"outcome": "finished"})], {}),
        ("denied", "failure", [reported() | {"permission_denials": [DENIAL]}], {"changed": ()}),
        ("verification_failed", "failure", [reported()], {"red_after_green": True}),
        ("success", "success", [reported()], {}),
        ("success", "success", [reported() | {"permission_denials": [DENIAL]}], {}),
        ("success", "success", [reported() | {"permission_denials": [DENIAL]}], {"changed": None}),
        ("success", "success", [reported()], {"changed": ()}),
        ("success", "success", [reported()], {"ended_by": "lingering", "exit": 143}),
        ("no_change_needed", "success", [reported("no_change_needed")], {"changed": ()}),
    ],
)
def test_a_row_of_the_table_holds_with_reports(
    reason: str, status: str, lines: list[dict[str, Any]], facts: dict[str, Any]
) -> None:
    outcome = judged(init(), *lines, **facts)
    assert (outcome.status, outcome.reason) == (status, reason)


@pytest.mark.parametrize(
    ("reason", "status", "lines", "facts"),
    [
        ("no_report", "failure", [result(result="")], {}),
        ("denied", "failure", [result(permission_denials=[DENIAL])], {"changed": ()}),
        ("verification_failed", "failure", [result()], {"red_after_green": True}),
        ("success", "success", [result()], {}),
        ("success", "success", [says("Did it."), result(result="")], {}),
        ("success", "success", [reported("failed")], {}),
    ],
)
def test_a_row_of_the_table_holds_with_the_marker_alone(
    reason: str, status: str, lines: list[dict[str, Any]], facts: dict[str, Any]
) -> None:
    outcome = judged(init(), *lines, mode="marker", **facts)
    assert (outcome.status, outcome.reason) == (status, reason)


@pytest.mark.parametrize("mode", ["schema", "marker"])
@pytest.mark.parametrize(
    "text",
    [
        LOGIN,
        HIT,
        "Claude AI usage limit reached|1749924000",
        "Credit balance is too low",
        "overloaded",
    ],
)
def test_what_the_model_writes_about_limits_and_logins_never_pauses(text: str, mode: Mode) -> None:
    done = reported(summary=text) | {"result": text}
    assert judged(says(text), done, mode=mode).status == "success"
    for limit in (LIMITED, BUDGET, RETRIES):
        cut = result(**{**limit, "result": text})
        assert judged(says(text), cut, mode=mode, exit=1).status == "failure"
    assert judged(says(text), api_error(500, text), mode=mode, exit=1).reason == "api_error"
    assert judged(init(), says(text), mode=mode, exit=143, stderr=text).reason == "interrupted"


def test_a_rejected_limit_on_a_run_that_succeeds_is_a_success() -> None:
    assert judged(limit_event("rejected", 1796077045), reported()).status == "success"


@pytest.mark.parametrize(
    ("line", "reason", "until"),
    [
        (api_error(429, HIT, api_error="usage_limit_reached"), "usage_limit", 1796077045),
        (api_error(529, "Overloaded"), "overload", None),
        (api_error(429, "Request rejected (429)"), "rate_limit", None),
        (api_error(401, "Invalid API key"), "login", None),
    ],
)
def test_only_a_usage_limit_ends_when_the_account_s_window_does(
    line: dict[str, Any], reason: str, until: float | None
) -> None:
    outcome = judged(limit_event("allowed", 1796077045), line, exit=1)
    expected = None if until is None else datetime.fromtimestamp(until, UTC)
    assert (outcome.reason, outcome.until) == (reason, expected)


def test_the_reset_in_the_old_wording_is_understood() -> None:
    old = api_error(None, "Claude AI usage limit reached|1749924000")
    outcome = judged(old, exit=1, judged_at=datetime(2025, 6, 14, tzinfo=UTC))
    assert outcome.until == datetime.fromtimestamp(1749924000, UTC)
    assert judged(limit_event("rejected", 1e300), api_error(429, HIT), exit=1).until is None


def test_a_refused_request_is_permanent_and_a_broken_server_is_not() -> None:
    assert judged(api_error(404, "no model x"), exit=1).permanent
    assert not judged(api_error(500, "x"), exit=1).permanent
    assert not judged(api_error(None, "ECONNREFUSED"), exit=1).permanent
    assert not judged(api_error(429, "x"), exit=1).permanent


def test_the_report_that_the_guard_refused_in_the_last_turn_counts_with_a_warning() -> None:
    refused = uses("StructuredOutput", {"outcome": "done", "summary": "Did it."})
    outcome = judged(refused, result(**LIMITED), exit=1, refusals=1)
    assert (outcome.status, outcome.summary) == ("success", "Did it.")
    assert any("guard's refusal" in warning for warning in outcome.warnings)
    assert judged(refused, result(**LIMITED), exit=1).reason == "turn_limit"
    assert judged(says("x"), result(**LIMITED), exit=1, refusals=2).reason == "turn_limit"
    asks = uses("StructuredOutput", {"outcome": "needs_input", "question": "A?"})
    assert judged(asks, result(**BUDGET), exit=1, refusals=1).reason == "needs_input"


def test_question_and_options_are_handed_on_word_for_word() -> None:
    outcome = judged(reported("needs_input", question="A or\nB?", options=["A: x", "B: y"]))
    assert outcome.remarks == "A or\nB?\n- A: x\n- B: y"
    marked = judged(says("Hm.\nNEEDS_CLARIFICATION: A or\nB?"), result(), mode="marker")
    assert marked.remarks == "A or\nB?"


def test_denials_come_with_the_rule_that_would_allow_them() -> None:
    failed = judged(reported() | {"permission_denials": [DENIAL]}, changed=())
    assert "Bash" in failed.summary
    rule = "Bash(curl http://x)"
    assert failed.denials[0].rule == rule
    mend = f"`loop allow '{rule}'` allows it"
    assert mend in failed.summary
    warned = judged(reported() | {"permission_denials": [DENIAL]})
    assert any(mend in warning for warning in warned.warnings)


def test_what_is_odd_about_a_success_is_a_warning() -> None:
    claims = reported(files_changed=["./a.py", "/abs/a.py", "b.py"])
    outcome = judged(claims, exit=1, readme_missing=True, swept=("npm run dev",))
    text = "\n".join(outcome.warnings)
    assert "exit 1" in text
    assert "README.md" in text
    assert "npm run dev" in text
    assert "files that the run did not change: b.py" in text
    assert judged(claims, changed_earlier=("b.py",)).warnings == ()
    assert judged(reported(), exit=0).warnings == ()
    assert "nobody saw its exit" in judged(reported(), exit=None).warnings
    assert "not a git repository" in judged(reported(), changed=None).warnings[0]


SPLIT = {"subtasks": [{"title": "A", "instructions": ["Do a"]}]}


@pytest.mark.parametrize(
    ("report", "facts", "reason"),
    [
        ({"notes": "Use a map."}, {"leaves_notes": True}, "success"),
        ({"notes": " "}, {"leaves_notes": True}, "denied"),
        ({"notes": "Use a map."}, {}, "denied"),
        (SPLIT, {}, "success"),
        ({"summary": "I'll create two tasks.", **SPLIT}, {}, "success"),
        ({"summary": "I will go on with the rest later.", **SPLIT}, {}, "success"),
        ({"subtasks": [{"title": "", "instructions": []}]}, {}, "denied"),
        ({"outcome": "needs_input", **SPLIT}, {}, "needs_input"),
        ({"outcome": "failed", **SPLIT}, {}, "reported"),
    ],
)
def test_work_that_is_not_in_the_files_counts_where_others_go_on_from_it(
    report: dict[str, Any], facts: dict[str, Any], reason: str
) -> None:
    line = reported(**{"outcome": "done", "summary": "Done.", **report})
    line["permission_denials"] = [DENIAL]
    assert judged(init(), line, changed=(), **facts).reason == reason


def test_gaps_of_a_report_that_others_go_on_from_are_warnings() -> None:
    empty = reported(subtasks=[{}, {"title": "A"}, 7])
    assert judged(init(), empty).warnings == (
        "2 subtasks of the report say nothing and were left out",
    )
    bare = judged(init(), reported(), leaves_notes=True)
    assert "learn only its summary" in bare.warnings[0]
