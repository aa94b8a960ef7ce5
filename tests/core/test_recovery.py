from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop.core.recovery import Evidence, Found, decide

CLAIMED: dict[str, Any] = {
    "readable": True, "run": 2, "completed_run": None, "queued_run": None, "log_locked": False,
    "launched": False, "exited": False,
}  # fmt: skip


@pytest.mark.parametrize(
    ("what_is_found", "do"),
    [
        ({}, Found.LAUNCH),
        ({"log_locked": True}, Found.WAIT),
        ({"log_locked": True, "launched": True}, Found.WAIT),
        ({"launched": True, "exited": True}, Found.JUDGE),
        ({"exited": True}, Found.JUDGE),
        ({"launched": True}, Found.JUDGE),
        ({"launched": True, "exited": True, "completed_run": 2}, Found.CLEAR),
        ({"completed_run": 3}, Found.CLEAR),
        ({"queued_run": 3, "launched": True}, Found.CLEAR),
        ({"readable": False}, Found.SET_ASIDE),
        ({"completed_run": 1}, Found.LAUNCH),
        ({"completed_run": 1, "launched": True}, Found.JUDGE),
        ({"queued_run": 2}, Found.LAUNCH),
        ({"queued_run": 1, "launched": True}, Found.JUDGE),
        ({"in_session": True, "held": True}, Found.HELD),
        ({"in_session": True}, Found.JUDGE),
        ({"in_session": True, "held": True, "completed_run": 2}, Found.CLEAR),
        ({"in_session": True, "held": True, "queued_run": 3}, Found.CLEAR),
    ],
)
def test_a_row_of_the_crash_table(what_is_found: dict[str, Any], do: Found) -> None:
    assert decide(Evidence(**CLAIMED | what_is_found)) is do


@given(
    st.builds(
        Evidence,
        readable=st.just(True),
        run=st.integers(1, 4),
        completed_run=st.none() | st.integers(1, 4),
        queued_run=st.none() | st.integers(1, 4),
        log_locked=st.booleans(),
        launched=st.booleans(),
        exited=st.booleans(),
    )
)
def test_no_run_that_left_a_trace_is_ever_started_again(evidence: Evidence) -> None:
    if decide(evidence) is Found.LAUNCH:
        assert not (evidence.log_locked or evidence.launched or evidence.exited)
        assert evidence.completed_run is None or evidence.completed_run < evidence.run
