"""Events of the file system: something was dropped, finished, paused by another process.

Only wakes; nothing depends on it, since the worker looks by itself every `scan_seconds`. A watch
goes silent without an error when its folder is deleted and made anew, so `look_alive`, called at
each of those looks, begins a new watch when a folder is another one than before.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from watchfiles import awatch

from loop.service.wakeups import Wakeups
from loop.store.paths import Project

#: Milliseconds between two looks of the watching thread at what the system has told it; latency is
#: one to two of them. 10 costs 0.3 % of one core; 5 costs twice as much.
_STEP_MS = 10
_DEBOUNCE_MS = 100


class Watcher:
    """Watches the folders of a project for as long as `run` runs."""

    def __init__(self, project: Project, wakeups: Wakeups) -> None:
        self._folders = (project.ai, project.queue, project.running, project.completed)
        self._wakeups = wakeups
        self._stop = asyncio.Event()
        self._ended = False
        self._watched: tuple[int, ...] = ()
        #: why there are no events; None while there are
        self.trouble: str | None = None

    async def run(self) -> None:
        """Watches until `end`."""
        while not self._ended:
            self._stop = asyncio.Event()
            self._watched = _inodes(self._folders)
            try:
                await self._watch([f for f in self._folders if f.is_dir()])
            except (OSError, RuntimeError) as error:
                self.trouble = f"no events of the file system ({error}); looking by the clock"
                await self._stop.wait()

    async def _watch(self, folders: list[Path]) -> None:
        if not folders:
            await self._stop.wait()
            return
        changes = awatch(
            *folders,
            watch_filter=None,
            step=_STEP_MS,
            debounce=_DEBOUNCE_MS,
            stop_event=self._stop,
            recursive=False,
            ignore_permission_denied=True,
        )
        self.trouble = None
        self._wakeups.wake()  # what happened before the watch was up
        async for _ in changes:
            self._wakeups.wake()

    def look_alive(self) -> None:
        """Begins a new watch if a folder was replaced since."""
        if _inodes(self._folders) != self._watched:
            self._stop.set()

    def end(self) -> None:
        """Ends the watch; the event must be set before the task is cancelled."""
        self._ended = True
        self._stop.set()


def _inodes(folders: tuple[Path, ...]) -> tuple[int, ...]:
    return tuple(_inode(folder) for folder in folders)


def _inode(folder: Path) -> int:
    try:
        return folder.stat().st_ino
    except OSError:
        return 0
