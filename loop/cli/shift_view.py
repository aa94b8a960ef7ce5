"""How a shift is shown to people: who works, on which task, since when, and what ends it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from loop.cli.wording import counted, listed, short_time


def shift_lines(data: dict[str, Any], now: datetime) -> tuple[str, str]:
    """Who works and on what; and what ends it."""
    at = f"task {data['task']} at hand" if data["task"] else "between two tasks"
    who = f"an interactive session (process {data['pid']}) since {short_time(data['since'], now)}"
    return f"{who}; {at}, {counted(data['iterations'], 'task')} taken", _ends(data, now)


def _ends(data: dict[str, Any], now: datetime) -> str:
    if data["stopping"]:
        back = f"; task {data['task']} goes back unless it is done" if data["task"] else ""
        return f"ends at the session's next stop{back}"
    limits = data["limits"]
    ends = ["when nothing is left that can run"]
    if "max_iterations" in limits:
        ends.append(f"after {counted(limits['max_iterations'], 'task')}")
    if "max_minutes" in limits:
        over = datetime.fromisoformat(data["since"]) + timedelta(minutes=limits["max_minutes"])
        ends.append(f"at the first stop after {short_time(over, now)}")
    if "max_usd" in limits:
        ends.append(f"at {limits['max_usd']:g} USD")
    return f"ends {listed([*ends, 'by `loop stop`']).replace(' and ', ' or ')}"


def worker_waits(worker: dict[str, Any] | None) -> str:
    """What the worker does meanwhile."""
    if worker is None:
        return "none is open, and none is needed while the session works"
    return "open; it starts nothing while the session works"


def during_pause(by: str) -> str:
    """What a pause of the queue means for the shift."""
    return "the session goes on" if by == "worker" else "the shift ends at its next stop"
