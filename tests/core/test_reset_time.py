"""Moments in the wordings in which Claude Code has told of them."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from loop.core.reset_time import reset_time

BERLIN = ZoneInfo("Europe/Berlin")


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("said", "now", "then"),
    [
        ("Claude AI usage limit reached|1749924000", "2025-06-14T10:00", "2025-06-14T18:00"),
        ("You've hit your limit · resets 11:30pm (Europe/Berlin)",
         "2026-07-23T10:00", "2026-07-23T21:30"),
        ("You've hit your limit · resets 11:30pm (Europe/Berlin)",
         "2026-01-23T10:00", "2026-01-23T22:30"),
        ("You've hit your session limit · resets 4:20am (America/New_York)",
         "2026-07-23T10:00", "2026-07-24T08:20"),
        ("Weekly limit reached · resets Mar 15 at 12pm (Europe/London)",
         "2026-03-12T10:00", "2026-03-15T12:00"),
        ("You've hit your limit · resets Jan 2 at 9am (UTC)", "2026-12-31T10:00",
         "2027-01-02T09:00"),
        ("resets 12am (UTC)", "2026-07-23T10:00", "2026-07-24T00:00"),
        ("resets at 4am", "2026-07-23T10:00", "2026-07-24T02:00"),
        # The night in which clocks are put forward: 2:30 is not there and means 3:30.
        ("resets 2:30am (Europe/Berlin)", "2026-03-29T00:30", "2026-03-29T01:30"),
        # The day before it, the next 4 o'clock is an hour sooner than usual.
        ("resets 4am (Europe/Berlin)", "2026-03-28T10:00", "2026-03-29T02:00"),
        # The night in which they are put back: 2:15 comes twice.
        ("resets 2:15am (Europe/Berlin)", "2026-10-25T00:00", "2026-10-25T00:15"),
        ("resets 2:15am (Europe/Berlin)", "2026-10-25T00:30", "2026-10-25T01:15"),
        ("resets 2:45am (Europe/Berlin)", "2026-10-25T01:20", "2026-10-25T01:45"),
        ("resets 2:15am (Europe/Berlin)", "2026-10-25T01:20", "2026-10-26T01:15"),
        ("resets Oct 25 at 2:15am (Europe/Berlin)", "2026-10-25T00:30", "2026-10-25T01:15"),
    ],
)  # fmt: skip
def test_the_moment_that_was_said(said: str, now: str, then: str) -> None:
    assert reset_time(said, utc(now).astimezone(BERLIN)) == utc(then)


@pytest.mark.parametrize(
    "said",
    [
        "Weekly limit reached", "resets soon", "resets in 3 hours", "resets 3 (UTC)",
        "resets 13pm (UTC)", "resets 25:00 (UTC)", "resets 4am (Mars/Olympus)",
        "resets Feb 30 at 4am (UTC)", "resets Monday at 4am", "usage limit reached|99",
    ],
)  # fmt: skip
def test_what_is_not_said_for_sure_is_not_known(said: str) -> None:
    assert reset_time(said, utc("2026-07-23T10:00")) is None
