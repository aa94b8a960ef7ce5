from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import pytest

from loop.core.event import (
    CheckpointSkipped,
    EscalatedToUser,
    Event,
    NotificationFailed,
    QueuePaused,
    QueueReset,
    QueueResumed,
    RunCompleted,
    RunRecovered,
    RunStarted,
    TaskBlocked,
    TaskCancelled,
    TaskEdited,
    TaskQueued,
    TaskRequeued,
    Undone,
    event_line,
)

T0 = datetime.fromisoformat("2026-07-23T10:00:00+00:00")
WHO: dict[str, Any] = {"ts": T0, "actor": "builder", "task_id": "42", "run": 2}
EVENTS: list[tuple[str, Event]] = [
    ("task_queued", TaskQueued(instructions=["a"], **WHO)),
    ("run_started", RunStarted(uuid="u", **WHO)),
    (
        "run_completed",
        RunCompleted(status="success", reason="success", commit_hash=None, cost_usd=None, **WHO),
    ),
    ("task_requeued", TaskRequeued(guidance="g", **WHO)),
    ("task_edited", TaskEdited(fields=["title"], **WHO)),
    ("task_cancelled", TaskCancelled(**WHO)),
    ("task_blocked", TaskBlocked(cause="1", **WHO)),
    ("escalated_to_user", EscalatedToUser(question="A or B?", **WHO)),
    ("queue_paused", QueuePaused(reason="r", kind="login", **WHO)),
    ("queue_resumed", QueueResumed(**WHO)),
    ("queue_reset", QueueReset(hard=True, cleared=1, cancelled=0, **WHO)),
    ("run_recovered", RunRecovered(found="wait", **WHO)),
    ("checkpoint_skipped", CheckpointSkipped(reason="r", **WHO)),
    ("undone", Undone(paths=["a"], **WHO)),
    ("notification_failed", NotificationFailed(service="s", reason="r", **WHO)),
]


@pytest.mark.parametrize(("name", "event"), EVENTS, ids=[name for name, _ in EVENTS])
def test_each_event_is_one_line_that_begins_with_when_who_and_what(name: str, event: Event) -> None:
    line = event_line(event)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    plain = json.loads(line)
    assert list(plain)[:5] == ["ts", "actor", "event", "task_id", "run"]
    assert plain["event"] == name
    assert plain["ts"] == "2026-07-23T10:00:00Z"


def test_a_completed_run_says_that_commit_and_cost_are_unknown() -> None:
    plain = json.loads(event_line(EVENTS[2][1]))
    assert (plain["status"], plain["commit_hash"], plain["cost_usd"]) == ("success", None, None)
    assert "retry" not in plain


def test_text_with_line_breaks_stays_on_one_line_and_comes_back_as_it_was() -> None:
    text = "a\nb\r\nc\u2028d\u0085e"
    line = event_line(TaskQueued(ts=T0, actor="user", instructions=[text]))
    assert line.count(b"\n") == 1
    assert line.count(b"\r") == 0
    assert json.loads(line)["instructions"] == [text]


def test_an_event_that_is_about_no_task_names_none() -> None:
    plain = json.loads(event_line(QueueResumed(ts=T0, actor="user")))
    assert list(plain) == ["ts", "actor", "event"]
