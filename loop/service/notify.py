"""Notifications beside the worker: one thread a service, for as long as this process is the owner.

What waits for a service is the timeline behind its place (store/notified.py), so nothing can
overflow, and what piles up while a service is slow becomes one message. A service that hangs
hangs its own thread only. The threads are daemons: they hold up neither a task nor the end of the
process, and what was not sent then is due for whoever comes next.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress

from loop.actions.notify import Post, begin, deliver, posts_of, send_due
from loop.errors import LoopError
from loop.service.wakeups import Wakeups
from loop.store import timeline
from loop.store.paths import Project
from loop.store.project_files import load_config

#: Seconds between two looks when no event came; events do not depend on it.
_LOOK_S = 5.0
#: Seconds before another try when the project's folder can't be used.
_AGAIN_S = 5.0
#: Seconds that a worker which is through waits at most for what is due: for the time between two
#: messages, and then for the longest that a service may take.
_FLUSH_S = 14.0


class Notifier:
    """Sends notifications while `is_owner` says so."""

    def __init__(
        self,
        project: Project,
        wakeups: Wakeups,
        env: Mapping[str, str],
        is_owner: Callable[[], bool],
    ) -> None:
        self._project = project
        self._wakeups = wakeups
        self._env = env
        self._is_owner = is_owner
        self._postmen: dict[str, _Postman] = {}
        #: bytes of the timeline and time of the settings at the last look
        self._seen: tuple[int, int] | None = None
        self._left = False
        #: where a service begins that is new when this process becomes the owner
        self._since: int | None = timeline.size_of(project.timeline)

    async def run(self) -> None:
        """Has every service look whenever the timeline has grown, or the settings are others."""
        with self._wakeups.subscribe() as wakeup:
            while True:
                with suppress(LoopError, OSError):  # of which the worker tells
                    await self._look_if_new()
                await wakeup.wait(_LOOK_S)

    async def _look_if_new(self) -> None:
        size = timeline.size_of(self._project.timeline)
        config = self._project.config
        seen = (size, config.stat().st_mtime_ns if config.exists() else 0)
        if self._left or not self._is_owner():
            self._seen, self._since = None, size
            return
        if self._seen is None or seen[1] != self._seen[1]:
            await asyncio.to_thread(self._configure)
        elif seen != self._seen:
            for postman in self._postmen.values():
                postman.look()
        self._seen = seen

    def _configure(self) -> None:
        try:
            posts = posts_of(load_config(self._project), self._env)
        except LoopError:  # which is news itself, so that the last settings have to do
            posts = {name: postman.post for name, postman in self._postmen.items()}
        else:
            begin(self._project, posts, self._since)
            self._since = None
        for name in self._postmen.keys() - posts.keys():
            self._postmen.pop(name).end()
        for name, post in posts.items():
            postman = self._postmen.get(name)
            if postman is None or not postman.is_alive():
                postman = self._postmen[name] = _Postman(self._project, post, self._is_owner)
                postman.start()
            postman.post = post
            postman.look()

    async def flush(self) -> None:
        """Waits until what is due is sent, in a bounded time."""
        with suppress(LoopError, OSError):
            await asyncio.to_thread(self._configure)
            await asyncio.to_thread(send_due, self._project, self._env, _FLUSH_S, again=False)

    def leave(self, within_s: float) -> None:
        """Begins nothing any more, and waits for the sends under way, so long at most.

        A service whose answer is not waited for is told the same again by whoever comes next.
        """
        self._left = True
        deadline = time.monotonic() + within_s
        postmen = list(self._postmen.values())
        for postman in postmen:
            postman.end()
        for postman in postmen:
            postman.join(max(0.0, deadline - time.monotonic()))


class _Postman(threading.Thread):
    """Brings one service what is new, and waits for more."""

    def __init__(self, project: Project, post: Post, is_owner: Callable[[], bool]) -> None:
        super().__init__(name=f"notify {post.sender.name}", daemon=True)
        self._project = project
        #: the service by the settings of now
        self.post = post
        self._is_owner = is_owner
        self._there_is_more = threading.Event()
        self._ended = False

    def look(self) -> None:
        """Has it look at the timeline."""
        self._there_is_more.set()

    def end(self) -> None:
        """Has it end when it is through with what it does."""
        self._ended = True
        self._there_is_more.set()

    def run(self) -> None:
        """Works until `end`."""
        wait_s: float | None = None
        while not self._ended:
            self._there_is_more.wait(wait_s)
            self._there_is_more.clear()
            if self._ended or not self._is_owner():
                wait_s = None
                continue
            try:
                wait_s = deliver(self._project, self.post)
            except (LoopError, OSError):  # the worker says so
                wait_s = _AGAIN_S
