"""When a shift ends by itself though tasks are left."""

from __future__ import annotations

from datetime import datetime, timedelta

from loop.actions.shift.text import counted
from loop.store.shift import Shift

#: How many tasks in a row may end without a word of the session.
MOST_UNREPORTED = 2


def minutes_are_over(shift: Shift, now: datetime) -> bool:
    """Whether the time of a shift is up; False when it has no limit."""
    most = shift.limits.max_minutes
    return most is not None and now - shift.since >= timedelta(minutes=most)


def reached(shift: Shift, now: datetime, transcript: str | None) -> str | None:
    """Which limit a shift has reached, in words; `transcript` is the file of the session's."""
    limits = shift.limits
    if shift.stop:
        return "it was asked to stop"
    if shift.unreported >= MOST_UNREPORTED:
        return f"{MOST_UNREPORTED} tasks in a row ended without a report"
    if limits.max_iterations is not None and shift.iterations >= limits.max_iterations:
        return f"its limit of {counted(limits.max_iterations, 'task')} is reached"
    if limits.max_minutes is not None and minutes_are_over(shift, now):
        return f"its limit of {counted(limits.max_minutes, 'minute')} is reached"
    if limits.max_usd is not None:
        from loop.actions.shift.cost import session_cost_usd

        spent = session_cost_usd(transcript, shift.since)
        if spent is None:
            return "what it cost can't be read, so its limit can't be kept"
        if spent >= limits.max_usd:
            return f"its limit of {limits.max_usd:g} USD is reached (up to {spent:.2f} spent)"
    return None
