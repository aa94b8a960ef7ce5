"""The account refuses, money is used up, Claude Code is missing: the queue waits and goes on."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from loop.core.task import TaskFields
from loop.service.wakeups import Wakeups
from loop.service.worker import Worker
from loop.store import pauses, queue
from loop.store.project_files import Pause, read_pause
from loop.store.scan import QueueView
from tests.relay.shop import LIMIT_S, Shop
from tests.tasks import submit

OVERLOAD = {
    "is_error": True, "terminal_reason": "api_error", "api_error_status": 529,
    "result": "API Error: 529 Overloaded", "total_cost_usd": 0.01,
}  # fmt: skip
USAGE = OVERLOAD | {"api_error_status": 429, "result": "You've hit your limit · resets 4pm (UTC)"}
MORNING = datetime(2026, 7, 23, 10, 0, tzinfo=UTC)


class Clock:
    """A clock that a test puts forward."""

    def __init__(self) -> None:
        self.now = MORNING

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The worker's clock; its process is this one, so the person's home is, too."""
    monkeypatch.setenv("HOME", shop.env["HOME"])
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    shop.configure(scan_seconds=0.05)
    return Clock()


class Watched(Worker):
    """A worker that counts what it does."""

    tries = 0
    looks = 0

    async def _own(self) -> None:
        self.tries += 1
        await super()._own()

    def _look(self) -> QueueView:
        self.looks += 1
        return super()._look()

    async def looks_again(self) -> None:
        """Waits until it has looked at the queue a few times more."""
        before = self.looks
        await until(lambda: self.looks >= before + 3, "it looks again")


@asynccontextmanager
async def working(shop: Shop, clock: Clock) -> AsyncIterator[Watched]:
    """A worker in this process."""
    worker = Watched(shop.project, Wakeups(), shop.env, now=clock)
    task = asyncio.create_task(worker.run())
    try:
        yield worker
    finally:
        task.cancel()
        await asyncio.wait({task}, timeout=LIMIT_S)


async def until(true: Callable[[], object], what: str) -> None:
    """Waits for what only the disk tells."""
    try:
        async with asyncio.timeout(LIMIT_S):
            while not true():  # noqa: ASYNC110 -- the worker's process is watched from outside
                await asyncio.sleep(0.01)
    except TimeoutError:
        raise AssertionError(f"not within {LIMIT_S} s: {what}") from None


def paused(shop: Shop) -> Pause:
    pause = read_pause(shop.project)
    assert pause is not None
    return pause


def told(shop: Shop, name: str) -> list[dict[str, Any]]:
    return [event for event in shop.events() if event["event"] == name]


async def test_waits_grow_one_probe_is_made_at_a_time_and_one_pause_is_news(
    shop: Shop, clock: Clock
) -> None:
    shop.say(**OVERLOAD)
    for number in range(3):
        submit(shop.project, MORNING, f"Work on {number}", max_attempts=1)
    async with working(shop, clock):
        for tries, minutes in enumerate([1, 2, 5, 10]):
            await until(lambda n=tries: len(told(shop, "queue_paused")) == n + 1, "a pause")  # type: ignore[misc]
            pause = paused(shop)
            assert (pause.kind, pause.tries) == ("overload", tries)
            assert pause.until == clock.now + timedelta(minutes=minutes)
            assert shop.launches() == ["1"] * (tries + 1)
            assert pause.until is not None
            clock.now = pause.until
        shop.say()
        await until(lambda: len(told(shop, "queue_resumed")) == 1, "it went through")
        for task_id in "123":
            await until(lambda i=task_id: shop.count(i)["run_completed"], "all ran")  # type: ignore[misc]
    numbers = [event.get("tries", 0) for event in told(shop, "queue_paused")]
    assert numbers == list(range(len(numbers)))  # one news, in one episode
    assert {event.get("attempt", 1) for event in told(shop, "run_started")} == {1}
    assert {shop.result(i)["status"] for i in "123"} == {"success"}


async def test_a_usage_limit_is_waited_for_until_it_ends_and_resume_tries_at_once(
    shop: Shop, clock: Clock
) -> None:
    shop.say(**USAGE)
    submit(shop.project, MORNING)
    async with working(shop, clock):
        await until(lambda: told(shop, "queue_paused"), "the pause")
        pause = paused(shop)
        assert pause.kind == "usage_limit"
        assert pause.until is not None
        assert pause.until.astimezone(UTC).strftime("%H:%M") == "16:00"
        assert pauses.resume(shop.project, "user", clock.now)
        await until(lambda: len(told(shop, "queue_paused")) == 2, "it tried at once")
        assert shop.launches() == ["1", "1"]
        shop.say()
        assert pauses.resume(shop.project, "user", clock.now)
        await until(lambda: told(shop, "run_completed"), "it ran")
    assert shop.launches() == ["1"] * 3


async def test_a_limit_met_while_the_person_pauses_leaves_the_person_s_pause(
    shop: Shop, clock: Clock
) -> None:
    shop.hold()
    shop.say(**OVERLOAD)
    submit(shop.project, MORNING)
    async with working(shop, clock) as worker:
        await until(lambda: shop.launches() == ["1"], "it runs")
        pauses.pause(shop.project, "user", "lunch", clock.now)
        shop.release()
        await until(lambda: shop.project.task_file(shop.project.queue, "1").exists(), "it is back")
        assert (paused(shop).by, paused(shop).reason) == ("user", "lunch")
        clock.now += timedelta(days=1)
        shop.say()
        submit(shop.project, MORNING, "Another")
        await worker.looks_again()
        assert shop.launches() == ["1"]
        assert paused(shop).by == "user"
        pauses.resume(shop.project, "user", clock.now)
        await until(lambda: shop.count("2")["run_completed"], "all ran")


async def test_the_day_s_budget_counts_unknown_costs_in_full_and_more_money_helps_at_once(
    shop: Shop, clock: Clock
) -> None:
    shop.configure(budget={"daily_usd": 3.5}, builder={"max_budget_usd": 2.0})
    # Without a cost: as if all that it may have spent were spent.
    shop.say(is_error=False, terminal_reason="completed", structured_output={
        "outcome": "done", "summary": "Did it."})  # fmt: skip
    submit(shop.project, MORNING, "Cheap", max_budget_usd=1.5)
    submit(shop.project, MORNING, "Dear")
    submit(shop.project, MORNING, "More")
    async with working(shop, clock):
        await until(lambda: told(shop, "queue_paused"), "the money is used up")
        pause = paused(shop)
        assert pause.kind == "daily_budget"
        assert "daily budget of 3.5 USD leaves no room for task 3: 3.50 spent" in pause.reason
        assert "limit" not in pause.reason
        assert pause.until == datetime(2026, 7, 24, tzinfo=UTC)
        assert shop.launches() == ["1", "2"]
        shop.configure(budget={"daily_usd": 5.5})
        await until(lambda: shop.count("3")["run_completed"], "the third ran")
        submit(shop.project, MORNING, "And more")
        await until(lambda: len(told(shop, "queue_paused")) == 2, "used up again")
        clock.now = datetime(2026, 7, 24, 0, 0, 1, tzinfo=UTC)
        await until(lambda: shop.count("4")["run_completed"], "another day")
    assert len(told(shop, "queue_resumed")) == 2


async def test_a_missing_executable_pauses_once_and_its_coming_lifts_the_pause(
    shop: Shop, clock: Clock, tmp_path: Path
) -> None:
    claude = tmp_path / "bin" / "claude"
    shop.configure(builder={"command": str(claude)})
    submit(shop.project, MORNING)
    async with working(shop, clock) as worker:
        await until(lambda: told(shop, "queue_paused"), "the pause")
        assert paused(shop).kind == "no_claude"
        clock.now += timedelta(hours=3)
        submit(shop.project, MORNING, "Another")
        await worker.looks_again()
        assert len(told(shop, "queue_paused")) == 1
        assert shop.launches() == []
        claude.parent.mkdir()
        claude.symlink_to(Path(__file__).parent / "stand_in.py")
        await until(lambda: shop.count("2")["run_completed"], "all ran")
    assert len(told(shop, "queue_paused")) == len(told(shop, "queue_resumed")) == 1
    assert shop.launches() == ["1", "2"]


async def test_what_keeps_the_worker_is_tried_again_without_haste(shop: Shop, clock: Clock) -> None:
    submit(shop.project, MORNING)
    async with working(shop, clock) as worker:
        await until(lambda: shop.count("1")["run_completed"], "it works")
        shop.forget()
        await until(lambda: worker.trouble is not None, "it is in trouble")
        before = worker.tries
        for _ in range(50):  # events come all the time, as from its own half-written files
            worker._wakeups.wake()
            await asyncio.sleep(0.01)
        assert worker.tries <= before + 1


def test_a_task_edited_or_cancelled_before_the_worker_saw_it_has_a_beginning(
    shop: Shop, now: datetime
) -> None:
    for name in ("0007.json", "0008.json"):
        (shop.project.queue / name).write_text(json.dumps({"instructions": "Dropped"}))
    queue.edit(shop.project, "7", TaskFields(title="Better"), "user", now)
    queue.cancel_queued(shop.project, "8", "user", now)
    assert [event["event"] for event in shop.events()] == [
        "task_queued", "task_queued", "task_edited", "task_cancelled",
    ]  # fmt: skip
