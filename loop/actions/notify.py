"""Telling people what is new in the timeline, by every service that is configured.

Who may call when: the owner's own threads (service/notify.py) for as long as it lives; any other
process by `send_due`, or by `send_due_later` where it must not wait. A service's lock decides who
sends (store/notified.py). Nothing is remembered between two calls but what is written down there,
so that what one process could not send, the next one does.

Trouble that passes (no network, too many messages at once, a service that is down) is tried again
a few times; what has become due meanwhile goes with it, in one message. After that, and when a
service refuses, the message is dropped and the timeline says so.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial

import msgspec

from loop.actions.news import news_after
from loop.core.config import Config
from loop.core.event import NotificationFailed
from loop.core.notification import Message, is_wanted, message, trial_message
from loop.errors import LoopError, NotSent
from loop.notify.sender import DESKTOP, Sender, link_of, senders_of
from loop.store import notified, queue
from loop.store.notified import Place
from loop.store.paths import Project
from loop.store.project_files import load_config, read_owner

#: Seconds between two messages to one service: none takes more than 20 a minute.
_APART_S = 3.0
#: How often sending is tried before a message is dropped; and how waits grow, in seconds.
_TRIES = 4
_WAITS_S = (5.0, 30.0, 120.0)
#: Longest wait before another try; a clock that was put back makes no longer one.
_LONGEST_S = 900.0
#: Seconds that `send_due` takes at most when nobody says otherwise: for somebody else's send, the
#: time between two messages, and a send.
WITHIN_S = 25.0
#: Seconds that one send may take.
_SEND_S = 10.0
_LOCK_AGAIN_S = 0.1

Now = Callable[[], datetime]


def utc_now() -> datetime:
    """The time, in UTC."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Post:
    """One service, and what it may be told."""

    sender: Sender
    events: tuple[str, ...] | None
    link: str | None


def posts_of(config: Config, env: Mapping[str, str]) -> dict[str, Post]:
    """The configured services, by name."""
    events = None if config.notify.events is None else tuple(config.notify.events)
    found = senders_of(config, env, sys.platform)
    return {name: Post(sender, events, link_of(config)) for name, sender in found.items()}


def begin(project: Project, posts: Iterable[str], at: int | None = None) -> None:
    """Has every service that is new begin at an offset of the timeline, at its end by default.

    What is before it is not sent. To be called before the first thing happens that is worth a
    notification: where nobody did, a service begins when it is first looked at. One that is
    configured no more is forgotten, so that it is new when it comes back.
    """
    posts = list(posts)
    _forget_others(project, posts)
    for name in posts:
        with notified.only_sender(project, name) as mine:
            if mine:
                notified.begin(project, name, at)


def _forget_others(project: Project, posts: Iterable[str]) -> None:
    """Forgets services that are configured no more; the desktop is there for some, not for all."""
    for name in notified.services(project) - {*posts, DESKTOP}:
        with notified.only_sender(project, name) as mine:
            if mine:
                notified.forget(project, name)


def deliver(project: Project, post: Post, now: Now = utc_now) -> float | None:
    """Sends a service what is due, in one message.

    Seconds after which to call again; None when all is sent or dropped, until the timeline grows.

    Raises:
        LoopError, OSError: the project's folder can't be read or written.
    """
    name = post.sender.name
    with notified.only_sender(project, name) as mine:
        if not mine:
            return _LOCK_AGAIN_S
        place = notified.begin(project, name)
        news, behind = news_after(project, place, now())
        wanted = [one for one in news if is_wanted(one, post.events)]
        if not wanted:
            if behind.offset != place.offset:
                passed = msgspec.structs.replace(behind, tries=0)
                notified.put_place(project, name, passed, durable=False)
            return None
        if held_s := _held_s(place, now()):
            return held_s
        return _send(project, post, message(project.name, wanted, post.link), place, behind, now)


def _held_s(place: Place, now: datetime) -> float:
    """Seconds for which nothing may be sent; 0 when something may."""
    wait_s = (place.wait_until - now).total_seconds() if place.wait_until else 0.0
    if place.sent is not None and now >= place.sent:
        wait_s = max(wait_s, _APART_S - (now - place.sent).total_seconds())
    return wait_s if 0 < wait_s <= _LONGEST_S else 0.0


def _send(
    project: Project, post: Post, text: Message, place: Place, behind: Place, now: Now
) -> float | None:
    name = post.sender.name
    # Where nothing can be written down, the same would be sent again and again.
    notified.put_place(project, name, place, durable=False)
    try:
        post.sender.send(text)
    except NotSent as error:
        if error.again_s is not None and place.tries + 1 < _TRIES:
            wait_s = max(error.again_s, _WAITS_S[min(place.tries, len(_WAITS_S) - 1)])
            wait_s = min(wait_s, _LONGEST_S)
            until = now() + timedelta(seconds=wait_s)
            later = msgspec.structs.replace(place, tries=place.tries + 1, wait_until=until)
            notified.put_place(project, name, later)
            return wait_s
        event = NotificationFailed(ts=now(), actor="builder", service=name, reason=str(error))
        queue.note_event(project, event)
        done = msgspec.structs.replace(behind, tries=0, wait_until=None)
        notified.put_place(project, name, done)
        return None
    done = msgspec.structs.replace(behind, tries=0, wait_until=None, sent=now())
    notified.put_place(project, name, done)
    return None


def send_due(
    project: Project, env: Mapping[str, str], within_s: float = WITHIN_S, *, again: bool = True
) -> list[str]:
    """Sends what is due by all services at once, in a bounded time; which are not through.

    What could not be sent is tried by the next one who calls, or by the worker. Without `again` no
    trouble is waited out here.

    Raises:
        NotReady: the settings are wrong.
    """
    deadline = time.monotonic() + within_s
    posts = posts_of(load_config(project), env)
    with suppress(LoopError, OSError):
        _forget_others(project, posts)
    through: set[str] = set()

    def bring(name: str, post: Post) -> None:
        with suppress(LoopError, OSError):
            while (wait_s := deliver(project, post)) is not None:
                left_s = deadline - time.monotonic() - wait_s
                # A send that is cut off by our end is made once more by the next one who calls.
                if left_s < _SEND_S or (wait_s > _APART_S and not again):
                    return
                time.sleep(wait_s)
            through.add(name)

    _all_at_once([partial(bring, *named) for named in posts.items()], deadline)
    return [name for name in posts if name not in through]


def _all_at_once(calls: list[Callable[[], None]], deadline: float) -> None:
    threads = [threading.Thread(target=call, name="notify", daemon=True) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))


def send_due_later(project: Project, env: Mapping[str, str]) -> bool:
    """Has a process of its own send what is due, and does not wait; whether one was started.

    None is where nothing is configured, or where a worker sends already.
    """
    try:
        if read_owner(project) is not None or not posts_of(load_config(project), env):
            return False
        import subprocess

        process = subprocess.Popen(
            # -P: a folder named loop where we happen to be is none of ours.
            [sys.executable, "-P", "-m", "loop", "notify", "--project", str(project.root)],
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            creationflags=getattr(subprocess, "DETACHED_PROCESS", 0),
        )
    except (LoopError, OSError):  # what is due stays due, and who calls has more to do
        return False
    threading.Thread(target=process.wait, name="notify", daemon=True).start()
    return True


@dataclass(frozen=True, slots=True)
class Tried:
    """What a service said to a test message."""

    service: str
    where: str
    arrived: bool
    said: str


def send_trial(project: Project, env: Mapping[str, str]) -> list[Tried]:
    """Sends a test message by all services at once; what each said.

    Raises:
        NotReady: the settings are wrong.
    """
    posts = posts_of(load_config(project), env)
    said: dict[str, Tried] = {}

    def attempt(name: str, post: Post) -> None:
        try:
            words = post.sender.send(trial_message(project.name, post.link))
        except NotSent as error:
            said[name] = Tried(name, post.sender.where, False, str(error))
            return
        said[name] = Tried(name, post.sender.where, True, words)
        with suppress(LoopError, OSError), notified.only_sender(project, name) as mine:
            if mine:
                place = msgspec.structs.replace(notified.begin(project, name), sent=utc_now())
                notified.put_place(project, name, place)

    deadline = time.monotonic() + WITHIN_S
    _all_at_once([partial(attempt, *named) for named in posts.items()], deadline)
    late = {n: Tried(n, p.sender.where, False, "no answer") for n, p in posts.items()}
    return [said.get(name, late[name]) for name in posts]
