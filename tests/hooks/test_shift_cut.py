"""An error of the API ends the turn of the bound session: StopFailure fires in place of Stop."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from loop.actions.shift.over import settle_left_behind
from loop.store.locks import FileLock
from loop.store.project_files import read_pause
from tests.notify.group import group
from tests.shifting import OTHER, Bound, Said, bound_at

LIMIT = "You've hit your session limit · resets 3pm (UTC)"


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Bound]:
    with bound_at(tmp_path) as made:
        yield made


def fails(shop: Bound, error: str, text: str, **fields: Any) -> Said:
    return shop.hook("StopFailure", error=error, last_assistant_message=text, **fields)


def test_a_limit_pauses_the_queue_as_that_of_a_headless_run_and_the_next_shift_goes_on(
    shop: Bound,
) -> None:
    shop.add("Build it", max_attempts=1)
    with group() as there:
        shop.configure(notify={"desktop": False, "wecom": there.address})
        assert shop.claim().code == 0
        (shop.root / "half.txt").write_text("half\n")
        assert fails(shop, "rate_limit", LIMIT).passed
        assert "paused" in there.has(1)[0] and "session limit" in there.texts[0]
    pause = read_pause(shop.project)
    assert pause is not None and pause.until is not None
    assert (pause.by, pause.kind) == ("worker", "usage_limit")
    assert [event["kind"] for event in shop.events("queue_paused")] == ["usage_limit"]
    assert not shop.project.shift.exists()
    task = shop.at("1").task
    assert (shop.state("1"), task.attempt, task.runs[0].status) == ("queued", 1, "paused")
    assert "broken off: usage limit" in (task.note_to_run or "")
    assert "half.txt" in shop.git("status", "--short")
    assert "session limit" in shop.loop("status").out

    again = shop.claim().out
    assert "Look at what is there" in again and "Not committed of that: half.txt" in again
    shop.reports()
    assert shop.hook().over
    assert shop.state("1") == "success"
    assert read_pause(shop.project) is None
    assert [event["reason"] for event in shop.events("queue_resumed")] == ["a run went through"]


def test_a_broken_service_has_the_task_tried_again_and_a_refused_request_fails_it(
    shop: Bound,
) -> None:
    shop.add("One")
    shop.begins()
    assert fails(shop, "server_error", "API Error: 500 Internal server error").passed
    assert (shop.state("1"), shop.at("1").task.attempt) == ("queued", 2)
    shop.begins()
    assert fails(shop, "model_not_found", "There's an issue with the selected model").passed
    result = shop.at("1").result
    assert result is not None and result.summary == "There's an issue with the selected model"
    assert (result.status, result.reason) == ("failure", "api_error")
    assert read_pause(shop.project) is None
    assert not shop.project.shift.exists()


def test_what_was_reported_before_the_error_counts(shop: Bound) -> None:
    shop.add("One")
    shop.begins()
    shop.reports("Did it.")
    assert fails(shop, "rate_limit", LIMIT).passed
    assert shop.state("1") == "success"
    assert read_pause(shop.project) is None
    assert not shop.project.shift.exists()


def test_where_a_worker_works_it_pauses_the_queue_for_what_the_session_met(shop: Bound) -> None:
    shop.add("One")
    shop.begins()
    worker = FileLock(shop.project.worker_lock)
    assert worker.try_acquire()
    assert fails(shop, "authentication_failed", "Please run /login").passed
    assert not shop.project.shift.exists()
    assert shop.state("1") == "running"  # it is the worker's now
    worker.release()
    settle_left_behind(shop.project, datetime.now(UTC))
    pause = read_pause(shop.project)
    assert pause is not None and pause.kind == "login"
    assert (shop.state("1"), shop.at("1").task.attempt) == ("queued", 1)


def test_an_error_of_a_sub_agent_or_of_another_session_ends_no_shift(shop: Bound) -> None:
    shop.add("One")
    shop.begins()
    assert fails(shop, "rate_limit", LIMIT, agent_id="a7c64c541c9083d37").passed
    assert fails(shop, "rate_limit", LIMIT, session_id=OTHER).passed
    assert shop.state("1") == "running"
    assert shop.project.shift.exists()


def test_a_session_that_goes_on_without_its_shift_does_not_end_the_task_unchecked(
    shop: Bound,
) -> None:
    shop.add("One")
    shop.begins()
    fails(shop, "overloaded", "API Error: Overloaded")
    said = shop.loop("done", "1", "--summary", "Did it all the same.")
    assert (said.code, "/loop:run takes it up" in said.err) == (1, True)
    assert shop.state("1") == "queued"
