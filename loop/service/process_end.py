"""The end of a process that is not ours, as an event: a daemon thread waits for it."""

from __future__ import annotations

import asyncio
import os
import select
import sys
import threading
from collections.abc import Callable
from contextlib import suppress

from loop.builder import processes


class ProcessEnd:
    """Calls back, on the event loop, when the process that is watched has ended."""

    def __init__(self, call: Callable[[], None]) -> None:
        self._call = call
        self._watched: tuple[int, int, str] | None = None

    def watch(self, pid: int, start: int, boot: str) -> None:
        """Watches this process; nothing happens when it is watched already."""
        identity = (pid, start, boot)
        if identity == self._watched:
            return
        self._watched = identity
        loop = asyncio.get_running_loop()

        def wait() -> None:
            _wait_for_end(*identity)
            with suppress(RuntimeError):  # the event loop has been closed meanwhile
                loop.call_soon_threadsafe(self._over, identity)

        threading.Thread(target=wait, name=f"process {pid}", daemon=True).start()

    def _over(self, identity: tuple[int, int, str]) -> None:
        if self._watched == identity:
            self._watched = None
        self._call()


def _wait_for_end(pid: int, start: int, boot: str) -> None:
    """Returns when the process of this identity has ended."""
    try:
        if sys.platform == "linux":
            _wait_by_pidfd(pid, start, boot)
        elif sys.platform == "darwin":
            _wait_by_kqueue(pid, start, boot)
        else:
            _wait_by_psutil(pid, start, boot)
    except ProcessLookupError:
        return
    except OSError:  # a sandbox that forbids it
        _wait_by_psutil(pid, start, boot)


if sys.platform == "linux":

    def _wait_by_pidfd(pid: int, start: int, boot: str) -> None:
        descriptor = os.pidfd_open(pid)
        try:
            if processes.is_same(pid, start, boot):
                poll = select.poll()
                poll.register(descriptor, select.POLLIN)
                poll.poll()
        finally:
            os.close(descriptor)

elif sys.platform == "darwin":

    def _wait_by_kqueue(pid: int, start: int, boot: str) -> None:
        queue = select.kqueue()
        try:
            event = select.kevent(pid, select.KQ_FILTER_PROC, select.KQ_EV_ADD, select.KQ_NOTE_EXIT)
            queue.control([event], 0, 0)
            if processes.is_same(pid, start, boot):
                queue.control(None, 1, None)
        finally:
            queue.close()


def _wait_by_psutil(pid: int, start: int, boot: str) -> None:
    import psutil

    try:
        process = psutil.Process(pid)
        if processes.is_same(pid, start, boot):
            process.wait()
    except psutil.Error:
        return
