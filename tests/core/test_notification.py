from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from loop.core.config import Notify
from loop.core.notification import (
    ALIASES,
    KINDS,
    News,
    all_done,
    cut_bytes,
    is_wanted,
    kind_of,
    message,
    news_of,
)


def ended(
    status: str, reason: str | None = None, task_id: str = "1", **more: Any
) -> dict[str, Any]:
    return {"event": "run_completed", "task_id": task_id, "run": 1, "status": status,
            "reason": reason or status, **more}  # fmt: skip


def queued(task_id: str) -> dict[str, Any]:
    return {"event": "task_queued", "task_id": task_id}


@pytest.mark.parametrize(
    ("event", "kind"),
    [
        (ended("success"), "success"),
        (ended("failure", "reported"), "failure"),
        (ended("failure", "timeout"), "timeout"),
        (ended("needs_input"), "needs_input"),
        (ended("failure", "silent", retry=True), None),
        (ended("failure", "cancelled"), None),
        ({"event": "task_blocked", "task_id": "2", "cause": "1"}, "blocked"),
        ({"event": "queue_paused", "kind": "login", "reason": "login"}, "paused"),
        ({"event": "queue_paused", "kind": "login", "reason": "login", "tries": 1}, None),
        ({"event": "escalated_to_user", "task_id": "1", "question": "A?"}, "escalation"),
        ({"event": "notification_failed", "service": "feishu", "reason": "x"}, None),
        ({"event": "task_queued", "task_id": "1"}, None),
        ({"event": "run_started", "task_id": "1"}, None),
        ({"event": "something_new"}, None),
    ],
)
def test_what_is_news_and_what_is_not(event: dict[str, Any], kind: str | None) -> None:
    assert kind_of(event) == kind
    assert kind is None or kind in KINDS


def words(event: dict[str, Any], summary: str = "", remarks: str | None = None) -> str:
    news = news_of(event, "Add a page", summary, remarks)
    assert news is not None
    return message("shop", [news]).text


def test_one_news_says_what_where_which_task_and_why() -> None:
    assert words(ended("success"), "Added it.") == "✅ success · shop · 1: Add a page\nAdded it."
    assert words(ended("failure", "turn_limit"), "20 turns.") == (
        "❌ failure · shop · 1: Add a page\nturn limit: 20 turns."
    )
    assert words(ended("needs_input"), "s", "Blue or red?\n1. Blue\n2. Red") == (
        "❓ needs_input · shop · 1: Add a page\nBlue or red?\n1. Blue\n2. Red"
    )
    assert words({"event": "task_blocked", "task_id": "2", "cause": "1"}) == (
        "⛔ blocked · shop · 2: Add a page\nwaits for task 1, which failed"
    )
    asked = {"event": "escalated_to_user", "task_id": "1", "question": "Which?", "options": ["A"]}
    assert words(asked) == "🙋 escalation · shop · 1: Add a page\nWhich?\n1. A"
    assert words(asked | {"options": 5}) == "🙋 escalation · shop · 1: Add a page\nWhich?"
    paused = {"event": "queue_paused", "reason": "login: run claude", "kind": "login"}
    assert words(paused) == "⏸️ paused · shop\nlogin: run claude"


def test_a_burst_is_one_message_with_counts_and_the_urgent_first() -> None:
    news = [News("success", "Fine.", str(n), f"Task {n}") for n in range(30)]
    news += [News("needs_input", "Blue?", "77", "Ask"), News("all_done", "30 succeeded, 0 failed")]
    text = message("shop", news).text
    lines = text.splitlines()
    assert lines[0] == "❓ 1 needs_input, ✅ 30 success, 🏁 all_done · shop"
    assert lines[1:3] == ["❓ needs_input · 77: Ask", "   Blue?"]
    assert lines[-1] == "and 12 more"


def test_long_secret_and_steering_words_are_cut_hidden_and_taken_out() -> None:
    news = News("failure", "x" * 596 + " ghp_" + "aB3x" * 9, "1", "T\x1b[2J\u202eitle\n two")
    text = message("shop", [news]).text
    assert "aB3x" not in text and text.endswith("…")
    assert text.splitlines()[0] == "❌ failure · shop · 1: T [2J itle two"


def test_the_filter_knows_the_names_of_other_systems_and_a_time_limit_is_a_failure() -> None:
    late, bad, good = (News(kind, "") for kind in ("timeout", "failure", "success"))
    assert [is_wanted(n, None) for n in (late, bad, good)] == [True, True, True]
    assert [is_wanted(n, ["failure"]) for n in (late, bad, good)] == [True, True, False]
    assert [is_wanted(n, ["task_timeout"]) for n in (late, bad, good)] == [True, False, False]
    assert [is_wanted(n, ["task_done"]) for n in (late, bad, good)] == [False, False, True]
    assert not is_wanted(good, [])


def test_all_done_sums_up_what_ended_since_the_queue_was_empty() -> None:
    earlier = [queued("1"), ended("failure", "reported", "1")]
    asked = [{"event": "task_requeued", "task_id": "1"}, queued("2"), queued("3"), queued("4")]
    now = [
        ended("success", task_id="1"),
        ended("failure", "silent", "2", retry=True),
        ended("failure", "silent", "2"),
        {"event": "task_cancelled", "task_id": "3"},
        {"event": "task_cancelled", "task_id": "4", "run": 1},
        ended("needs_input", task_id="4"),
    ]
    done = all_done([*earlier, *asked, *now])
    assert done is not None
    assert done.text == "1 succeeded, 1 failed, 1 asks, 1 cancelled"
    before = all_done(earlier)
    assert before is not None and before.text == "0 succeeded, 1 failed"


def test_a_task_without_an_end_does_not_add_up_all_that_ended_since() -> None:
    brought_in_as_done = queued("1")
    first = [brought_in_as_done, queued("2"), ended("success", task_id="2")]
    second = [queued("3"), ended("failure", "silent", "3")]
    done = all_done([*first, *second])
    assert done is not None and done.text == "0 succeeded, 1 failed"


def test_a_queue_that_was_only_cancelled_is_not_said_to_be_done() -> None:
    assert all_done([queued("1"), {"event": "task_cancelled", "task_id": "1"}]) is None
    assert all_done([]) is None


@pytest.mark.parametrize("text", ["日本語のテキスト" * 9, "🙋‍♀️" * 20, "a" * 100, "é", ""])
def test_a_text_is_cut_by_bytes_behind_a_whole_character(text: str) -> None:
    for most in range(3, 60):
        cut = cut_bytes(text, most)
        assert len(cut.encode()) <= most
        assert cut == text or text.startswith(cut.removesuffix("…"))
        assert "�" not in cut


def test_every_name_that_the_settings_take_is_documented() -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    for name in [*KINDS, *ALIASES, *Notify.__struct_fields__, "notify_type", "notify_webhook"]:
        assert f"`{name}`" in readme or f'"{name}"' in readme, name
