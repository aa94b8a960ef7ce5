"""Who sends while a process lives, and what wakes it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

from loop.actions.notify import begin
from loop.core.event import EscalatedToUser
from loop.service.notify import Notifier
from loop.service.wakeups import Wakeups
from loop.service.watcher import Watcher
from loop.service.worker import utc_now
from loop.store import notified, queue
from loop.store.paths import Project
from tests.notify.group import Group, group


@pytest.fixture
def there() -> Iterator[Group]:
    with group() as made:
        yield made


def tell(project: Project, question: str) -> None:
    """What touches no file but the timeline."""
    event = EscalatedToUser(ts=utc_now(), actor="architect", question=question)
    queue.note_event(project, event)


async def comes_true(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not true():  # noqa: ASYNC110 -- a thread makes it true
            await asyncio.sleep(0.01)


async def test_the_watcher_wakes_when_the_timeline_grows_even_a_new_one(project: Project) -> None:
    wakeups = Wakeups()
    watcher = Watcher(project, wakeups)
    with wakeups.subscribe() as wakeup:
        task = asyncio.create_task(watcher.run())
        assert await wakeup.wait(5)  # the watch is up
        tell(project, "One?")
        assert await wakeup.wait(5)
        project.timeline.rename(project.logs / "old.jsonl")
        with suppress(TimeoutError):
            async with asyncio.timeout(5):
                while await wakeup.wait(0.3):  # of the rename
                    pass
        watcher.look_alive()
        assert await wakeup.wait(5)  # the new watch is up
        tell(project, "Two?")
        assert await wakeup.wait(5)
    watcher.end()
    await task


async def test_only_the_owner_sends_and_a_new_owner_sends_nothing_of_before(
    project: Project, there: Group
) -> None:
    project.config.write_text(json.dumps({"notify": {"dingtalk": there.address}}))
    tell(project, "Before?")
    owner = False
    wakeups = Wakeups()
    notifier = Notifier(project, wakeups, {}, lambda: owner)
    task = asyncio.create_task(notifier.run())
    await asyncio.sleep(0)
    tell(project, "Which?")
    wakeups.wake()
    await asyncio.sleep(0)
    assert there.came == []
    owner = True
    tell(project, "And this?")
    wakeups.wake()
    (text,) = await asyncio.to_thread(there.has, 1)
    assert text == "🙋 escalation · project\nAnd this?"
    task.cancel()


async def test_a_service_that_is_configured_later_begins_there(
    project: Project, there: Group
) -> None:
    wakeups = Wakeups()
    notifier = Notifier(project, wakeups, {}, lambda: True)
    task = asyncio.create_task(notifier.run())
    tell(project, "Before?")
    wakeups.wake()
    await comes_true(lambda: notifier._seen is not None)
    project.config.write_text(json.dumps({"notify": {"dingtalk": there.address}}))
    wakeups.wake()
    await comes_true((project.notified / "dingtalk.json").exists)
    tell(project, "After?")
    wakeups.wake()
    (text,) = await asyncio.to_thread(there.has, 1)
    assert text.endswith("After?")
    project.config.write_text('{"notifi": {}}')  # which the last settings tell of
    tell(project, "Broken?")
    wakeups.wake()
    assert (await asyncio.to_thread(there.has, 2))[1].endswith("Broken?")
    task.cancel()


async def test_settings_that_are_broken_let_no_service_be_forgotten(
    project: Project, there: Group
) -> None:
    begin(project, ["dingtalk"])
    tell(project, "Before?")
    project.config.write_text("{")
    wakeups = Wakeups()
    notifier = Notifier(project, wakeups, {}, lambda: True)
    task = asyncio.create_task(notifier.run())
    await comes_true(lambda: notifier._seen is not None)
    project.config.write_text(json.dumps({"notify": {"dingtalk": there.address}}))
    wakeups.wake()
    (text,) = await asyncio.to_thread(there.has, 1)
    assert text.endswith("Before?")
    task.cancel()


async def test_a_send_under_way_is_waited_for_at_the_end_so_that_it_is_not_sent_again(
    project: Project, there: Group
) -> None:
    project.config.write_text(json.dumps({"notify": {"dingtalk": there.address}}))
    wakeups = Wakeups()
    notifier = Notifier(project, wakeups, {}, lambda: True)
    task = asyncio.create_task(notifier.run())
    await asyncio.sleep(0)
    there.free.clear()
    tell(project, "Which?")
    wakeups.wake()
    await asyncio.to_thread(there.has, 1)
    leaving = asyncio.create_task(asyncio.to_thread(notifier.leave, 10))
    await asyncio.to_thread(notifier.leave, 0.01)  # one that hangs is not waited for any longer
    there.free.set()
    await leaving
    place = notified.place_of(project, "dingtalk")
    assert place is not None and place.sent is not None
    task.cancel()
