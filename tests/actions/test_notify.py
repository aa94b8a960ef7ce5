"""What becomes due, what is sent of it, and what is remembered, whoever sends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from loop.actions.notify import Post, begin, deliver, send_due, send_due_later
from loop.core.event import EscalatedToUser, TaskBlocked
from loop.core.notification import Message
from loop.errors import LoopError, NotSent
from loop.store import notified, queue, timeline
from loop.store.locks import FileLock
from loop.store.paths import Project
from tests.notify.group import Group, group, nobody
from tests.tasks import claim, settle, submit

BARE = {"PATH": os.defpath, "HOME": "/nonexistent"}


@dataclass
class Teller:
    """A service whose messages are kept; it refuses while `trouble` is set."""

    name: str = "teller"
    where: str = "here"
    told: list[Message] = field(default_factory=list)
    trouble: NotSent | None = None

    def send(self, message: Message) -> str:
        if self.trouble is not None:
            raise self.trouble
        self.told.append(message)
        return "ok"


@dataclass
class Clock:
    at: datetime = datetime(2026, 7, 23, 10, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.at


@pytest.fixture
def there() -> Iterator[Group]:
    with group() as made:
        yield made


@dataclass
class Desk:
    """A project with one service that is told of all."""

    project: Project
    teller: Teller
    clock: Clock
    events: tuple[str, ...] | None = None

    def deliver(self, after_s: float = 10.0) -> float | None:
        self.clock.at += timedelta(seconds=after_s)
        return deliver(self.project, Post(self.teller, self.events, None), self.clock)

    @property
    def titles(self) -> list[str]:
        return [message.title for message in self.teller.told]

    def failures(self) -> list[str]:
        events = timeline.last(self.project.timeline, 100)
        return [e["reason"] for e in events if e["event"] == "notification_failed"]


@pytest.fixture
def desk(project: Project) -> Desk:
    begin(project, ["teller"])
    return Desk(project, Teller(), Clock())


def test_an_ending_is_told_with_the_words_of_the_result_and_once(desk: Desk, now: datetime) -> None:
    submit(desk.project, now, "Later")
    task = submit(desk.project, now, "Add a page")
    settle(desk.project, claim(desk.project, task, now), now)
    assert desk.deliver() is None
    assert desk.deliver() is None
    (message,) = desk.teller.told
    assert message == Message("✅ success · project · 2: Add a page", "Done.")


def test_a_burst_is_one_message(desk: Desk, now: datetime) -> None:
    tasks = [submit(desk.project, now, f"Task {n}") for n in range(30)]
    for task in tasks:
        settle(desk.project, claim(desk.project, task, now), now)
    desk.deliver()
    (message,) = desk.teller.told
    assert message.title == "✅ 30 success, 🏁 all_done · project"
    assert message.body.endswith("and 11 more")


def test_messages_to_one_service_are_kept_apart_and_merged(desk: Desk, now: datetime) -> None:
    def told() -> None:
        asked = EscalatedToUser(ts=now, actor="architect", task_id=None, question="Which?")
        queue.note_event(desk.project, asked)

    told()
    assert desk.deliver() is None
    told()
    assert 1.9 < (desk.deliver(after_s=1.0) or 0) < 2.1
    told()
    assert desk.deliver(after_s=2.5) is None
    assert desk.titles == ["🙋 escalation · project", "🙋 2 escalation · project"]


def test_all_done_is_said_once_an_episode_and_not_while_something_is_left(
    desk: Desk, now: datetime
) -> None:
    first, second = (submit(desk.project, now, text) for text in ("One", "Two"))
    settle(desk.project, claim(desk.project, first, now), now)
    desk.deliver()
    settle(desk.project, claim(desk.project, second, now), now, "failure")
    desk.deliver()
    queue.note_event(desk.project, TaskBlocked(ts=now, actor="builder", task_id="9", cause="2"))
    desk.deliver()
    assert [("all_done" in title) for title in desk.titles] == [False, True, False]
    assert "1 succeeded, 1 failed" in desk.teller.told[1].body
    third = submit(desk.project, now, "Three")
    settle(desk.project, claim(desk.project, third, now), now, "needs_input")
    desk.deliver()
    assert "0 succeeded, 0 failed, 1 asks" in desk.teller.told[-1].body


def test_all_done_is_said_once_though_the_last_task_ends_while_one_looks(
    desk: Desk, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (submit(desk.project, now, text) for text in ("One", "Two"))
    settle(desk.project, claim(desk.project, first, now), now)
    last = [claim(desk.project, second, now)]

    def looks_idle(project: Project) -> bool:
        if last:
            settle(project, last.pop(), now)
        return True

    monkeypatch.setattr("loop.actions.news._is_idle", looks_idle)
    desk.deliver()
    desk.deliver()
    assert desk.titles == ["✅ 2 success, 🏁 all_done · project"]


def test_what_is_not_wanted_is_passed_over_for_good(desk: Desk, now: datetime) -> None:
    desk.events = ("failure",)
    settle(desk.project, claim(desk.project, submit(desk.project, now), now), now)
    desk.deliver()
    desk.events = None
    desk.deliver()
    assert desk.titles == []


def test_passing_trouble_is_waited_out_and_what_comes_meanwhile_goes_with_it(
    desk: Desk, now: datetime
) -> None:
    desk.teller.trouble = NotSent("can't be reached", 5.0)
    settle(desk.project, claim(desk.project, submit(desk.project, now), now), now)
    assert desk.deliver() == 5.0
    assert desk.deliver(after_s=1.0) == 4.0  # another process knows of the wait, too
    desk.teller.trouble = None
    settle(desk.project, claim(desk.project, submit(desk.project, now), now), now, "failure")
    assert desk.deliver() is None
    assert len(desk.titles) == 1 and "1 failure, ✅ 1 success" in desk.titles[0]
    assert desk.failures() == []


def test_trouble_that_stays_is_dropped_and_told_in_the_timeline_and_that_is_no_news(
    desk: Desk, now: datetime
) -> None:
    desk.teller.trouble = NotSent("too many", 60.0)
    settle(desk.project, claim(desk.project, submit(desk.project, now), now), now)
    waits = [desk.deliver(after_s=700) for _ in range(4)]
    assert waits == [60.0, 60.0, 120.0, None]
    assert desk.failures() == ["too many"]
    desk.teller.trouble = None
    assert desk.deliver() is None
    assert desk.titles == []


def test_a_refusal_is_dropped_at_once(desk: Desk, now: datetime) -> None:
    desk.teller.trouble = NotSent("sign not match (310000)")
    settle(desk.project, claim(desk.project, submit(desk.project, now), now), now)
    assert desk.deliver() is None
    assert desk.failures() == ["sign not match (310000)"]


def test_what_can_not_be_written_down_is_not_sent_again_and_again(
    desk: Desk, now: datetime
) -> None:
    settle(desk.project, claim(desk.project, submit(desk.project, now), now), now)
    in_the_way = desk.project.notified / f".teller.json.{os.getpid()}.tmp"
    in_the_way.mkdir()
    for _ in range(2):
        with pytest.raises(LoopError):
            desk.deliver()
    assert desk.titles == []
    in_the_way.rmdir()
    desk.deliver()
    desk.deliver()
    assert len(desk.titles) == 1


def test_a_wait_that_a_service_asks_for_is_kept_and_has_an_end(desk: Desk, now: datetime) -> None:
    desk.teller.trouble = NotSent("later", 100_000.0)
    settle(desk.project, claim(desk.project, submit(desk.project, now), now), now)
    assert desk.deliver() == 900.0
    desk.teller.trouble = None
    assert desk.deliver(after_s=890) == 10.0
    assert desk.deliver(after_s=11) is None
    assert len(desk.titles) == 1


def test_tries_are_counted_anew_when_what_failed_is_wanted_no_more(
    desk: Desk, now: datetime
) -> None:
    desk.teller.trouble = NotSent("can't be reached", 5.0)
    settle(desk.project, claim(desk.project, submit(desk.project, now), now), now)
    for _ in range(3):
        desk.deliver(after_s=200)
    desk.events = ("failure",)
    assert desk.deliver(after_s=200) is None
    settle(desk.project, claim(desk.project, submit(desk.project, now), now), now, "failure")
    assert desk.deliver(after_s=200) == 5.0


def test_a_service_that_was_taken_out_and_comes_back_is_told_nothing_of_between(
    desk: Desk, now: datetime
) -> None:
    begin(desk.project, ["desktop", "teller"])
    submit(desk.project, now, "Later")
    begin(desk.project, ["other"])
    settle(desk.project, claim(desk.project, submit(desk.project, now), now), now)
    begin(desk.project, ["teller", "other"])
    settle(desk.project, claim(desk.project, submit(desk.project, now), now), now, "failure")
    assert desk.deliver() is None
    (title,) = desk.titles
    assert title.startswith("❌ failure")
    desktop = notified.place_of(desk.project, "desktop")
    assert desktop is not None and desktop.offset == 0  # who forgot the others may see none


def configured(project: Project, **services: object) -> Project:
    project.config.write_text(json.dumps({"notify": services}))
    begin(project, services)
    return project


def notify(project: Project, env: dict[str, str]) -> subprocess.Popen[bytes]:
    """`loop notify`, in a process of its own."""
    root = str(Path(__file__).parents[2])
    command = [sys.executable, "-P", "-m", "loop", "notify", "--project", str(project.root)]
    return subprocess.Popen(
        command, env=env | {"PYTHONPATH": root}, stdout=subprocess.DEVNULL, start_new_session=True
    )


def test_a_sender_that_is_killed_while_it_sends_forgets_nothing_and_tells_the_others_once(
    project: Project, there: Group, now: datetime
) -> None:
    with group() as quick:
        configured(project, dingtalk=there.address, wecom=quick.address)
        submit(project, now, "Later")
        settle(project, claim(project, submit(project, now, "Add a page"), now), now)
        there.free.clear()
        killed = notify(project, BARE)
        there.has(1)
        quick.has(1)
        _wait_until_told(project, "wecom")
        killed.kill()
        killed.wait(10)
        there.free.set()
        assert send_due(project, BARE) == []
        assert send_due(project, BARE) == []
    # The request was out when its sender died: nobody knows whether it counted, so once more.
    assert there.has(2) == ["✅ success · project · 2: Add a page\nDone."] * 2
    assert len(quick.came) == 1


def _wait_until_told(project: Project, service: str) -> None:
    from tests.relay.shop import until

    def told() -> bool:
        place = notified.place_of(project, service)
        return place is not None and place.sent is not None

    until(told, f"{service} is told")


def test_two_who_send_at_once_send_once(project: Project, there: Group, now: datetime) -> None:
    configured(project, dingtalk=there.address)
    submit(project, now)
    settle(project, claim(project, submit(project, now), now), now)
    there.free.clear()
    threads = [threading.Thread(target=send_due, args=(project, BARE)) for _ in range(2)]
    for thread in threads:
        thread.start()
    there.has(1)
    there.free.set()
    for thread in threads:
        thread.join(20)
    assert len(there.came) == 1


def test_what_nobody_could_send_stays_due(project: Project, there: Group, now: datetime) -> None:
    submit(project, now)
    with nobody() as address:
        configured(project, dingtalk=address)
        settle(project, claim(project, submit(project, now, "One"), now), now)
        assert send_due(project, BARE, 1.0) == ["dingtalk"]
    place = notified.place_of(project, "dingtalk")
    assert place is not None and place.tries == 1
    configured(project, dingtalk=there.address)
    assert send_due(project, BARE, 10.0, again=False) == ["dingtalk"]  # its wait isn't over
    assert there.came == []


def test_nothing_is_begun_that_has_no_time_left_to_end(
    project: Project, there: Group, now: datetime
) -> None:
    configured(project, dingtalk=there.address)
    settle(project, claim(project, submit(project, now), now), now)

    def told(ago_s: float) -> None:
        sent = datetime.now(UTC) - timedelta(seconds=ago_s)
        place = msgspec.structs.replace(notified.begin(project, "dingtalk"), sent=sent)
        notified.put_place(project, "dingtalk", place)

    told(0)
    assert send_due(project, BARE, 5.0) == ["dingtalk"]
    assert there.came == []
    told(2.9)
    assert send_due(project, BARE, 14.0, again=False) == []
    assert len(there.came) == 1


def test_a_process_of_its_own_sends_where_no_worker_does(
    project: Project, there: Group, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = BARE | {"PYTHONPATH": str(Path(__file__).parents[2])}
    assert not send_due_later(project, env)  # nothing is configured
    configured(project, dingtalk=there.address)
    submit(project, now)
    settle(project, claim(project, submit(project, now), now), now)
    lock = FileLock(project.worker_lock)
    assert lock.try_acquire()
    assert not send_due_later(project, env)
    lock.release()
    with monkeypatch.context() as patched:
        patched.setattr("sys.executable", "/nowhere/python")
        assert not send_due_later(project, env)  # which is nobody's trouble
    assert send_due_later(project, env)
    assert "✅ success" in there.has(1)[0]
    _wait_until_told(project, "dingtalk")
