"""Waking everybody in this process who waits for something to change.

A wakeup says nothing but "look again": folders are read, events are not believed. None is lost,
since a waiter subscribes first, then looks, then waits; what happens in between sets its event.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager


class Wakeup:
    """One waiter's own event."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def set(self) -> None:
        """Ends the wait that goes on, or the next one."""
        self._event.set()

    async def wait(self, timeout_s: float) -> bool:
        """Waits for a wakeup since the last wait; False when the time ran out."""
        try:
            async with asyncio.timeout(max(0.0, timeout_s)):
                await self._event.wait()
        except TimeoutError:
            return False
        self._event.clear()
        return True


class Wakeups:
    """All waiters of this process."""

    def __init__(self) -> None:
        self._waiting: set[Wakeup] = set()

    def wake(self) -> None:
        """Has every waiter look again."""
        for wakeup in self._waiting:
            wakeup.set()

    @contextmanager
    def subscribe(self) -> Iterator[Wakeup]:
        """A wakeup of one's own, for as long as the block lasts."""
        wakeup = Wakeup()
        self._waiting.add(wakeup)
        try:
            yield wakeup
        finally:
            self._waiting.discard(wakeup)
