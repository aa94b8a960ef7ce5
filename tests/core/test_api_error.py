"""An error that ended a session's turn means what it means for a headless run."""

from __future__ import annotations

import pytest

from loop.core.api_error import ended_by_api_error
from loop.core.outcome import Ending, classify
from loop.core.transcript import Transcript


@pytest.mark.parametrize(
    ("error", "text", "status", "reason", "permanent"),
    [
        ("rate_limit", "API Error: Request rejected (429) · Slow down", "paused", "rate_limit", 0),
        ("rate_limit", "You've hit your session limit · resets 3pm", "paused", "usage_limit", 0),
        ("overloaded", "Repeated overload", "paused", "overload", 0),
        ("server_error", "API Error: 529 Overloaded.", "paused", "overload", 0),
        ("authentication_failed", "Invalid API key", "paused", "login", 0),
        ("oauth_org_not_allowed", "API Error: 403 not allowed", "paused", "login", 0),
        ("account_on_hold", "See detail", "paused", "login", 0),
        ("billing_error", "Credit balance is too low", "paused", "credit", 0),
        ("server_error", "API Error: 500 Internal server error.", "failure", "api_error", 0),
        ("max_output_tokens", "API Error: exceeded the maximum", "failure", "api_error", 0),
        ("unknown", "API Error: Connection error.", "failure", "api_error", 0),
        ("unknown", "API Error: 400 messages: bad", "failure", "api_error", 1),
        ("model_not_found", "An issue with the selected model", "failure", "api_error", 1),
        ("invalid_request", "Prompt is too long", "failure", "prompt_too_long", 0),
    ],
)
def test_it_is_judged_by_the_one_table(
    error: str, text: str, status: str, reason: str, permanent: int
) -> None:
    ended = ended_by_api_error(error, text)
    ending = Ending(transcript=Transcript(lines=1, ended=ended, error=error), exit=0)
    outcome = classify(ending)
    assert (outcome.status, outcome.reason, outcome.permanent) == (status, reason, bool(permanent))
    assert text in outcome.summary
