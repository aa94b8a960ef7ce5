"""Events of the file system: something was dropped, finished, paused or told by another process.

Only wakes; nothing depends on it, since the worker looks by itself every `scan_seconds`. A watch
goes silent without an error when its folder is deleted and made anew, so `look_alive`, called at
each of those looks, begins a new watch when a folder is another one than before.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from pathlib import Path

from watchfiles import awatch, watch

from loop.service.wakeups import Wakeups
from loop.store.paths import Project

#: Milliseconds between two looks of the watching thread at what the system has told it; latency is
#: one to two of them. 10 costs 0.3 % of one core; 5 costs twice as much.
_STEP_MS = 10
_DEBOUNCE_MS = 100
#: How long and how often `no_events_in` waits for an event.
_PROBE_MS = 100
_PROBES = 10


class Watcher:
    """Watches the folders of a project for as long as `run` runs."""

    def __init__(self, project: Project, wakeups: Wakeups) -> None:
        self._folders = (project.ai, project.queue, project.running, project.completed)
        #: alone of its folder, in which the log of a run grows all the time
        self._timeline = project.timeline
        self._wakeups = wakeups
        self._stop = asyncio.Event()
        self._ended = False
        self._watched = _Identity(())
        #: why there are no events; None while there are
        self.trouble: str | None = None

    async def run(self) -> None:
        """Watches until `end`."""
        while not self._ended:
            self._stop = asyncio.Event()
            self._watched.close()
            if not self._timeline.exists():
                with suppress(OSError):  # no folder, a full disk: the next watch has it
                    self._timeline.touch(mode=0o600)
            self._watched = _Identity((*self._folders, self._timeline))
            try:
                await self._watch([f for f in (*self._folders, self._timeline) if f.exists()])
            except (OSError, RuntimeError) as error:
                self.trouble = reason_of(error)
                await self._stop.wait()

    async def _watch(self, paths: list[Path]) -> None:
        if not paths:
            await self._stop.wait()
            return
        changes = awatch(
            *paths,
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
        if not self._watched.is_still_there():
            self._stop.set()

    def end(self) -> None:
        """Ends the watch; the event must be set before the task is cancelled."""
        self._ended = True
        self._stop.set()


def no_events_in(folder: Path) -> str | None:
    """Why the system tells of no change in a folder; None when it does.

    Tries it out with a file that is there for a moment.
    """
    probe = folder / f".events.{os.getpid()}.tmp"
    tries = 0
    try:
        for changes in watch(
            folder, watch_filter=None, step=10, debounce=20, rust_timeout=_PROBE_MS,
            yield_on_timeout=True, recursive=False, raise_interrupt=True,
        ):  # fmt: skip
            tries += 1
            if changes:
                return None
            if tries > _PROBES:
                return "nothing was told of a file that was made there"
            if not _touched(probe):
                return None  # that it can't be written is another matter
    except (OSError, RuntimeError) as error:
        return reason_of(error)
    finally:
        with suppress(OSError):
            probe.unlink()
    return None


def _touched(path: Path) -> bool:
    try:
        path.touch()
    except OSError:
        return False
    return True


def reason_of(error: Exception) -> str:
    """What keeps events from coming, in plain words."""
    text = str(error)
    if "watch limit" in text or "os error 28" in text:
        return "the limit of watched folders is reached: raise fs.inotify.max_user_watches"
    if "os error 24" in text:
        return "the limit of watchers is reached: raise fs.inotify.max_user_instances"
    return text


class _Identity:
    """What lies under some paths; held open, since else something new gets the old number."""

    def __init__(self, paths: tuple[Path, ...]) -> None:
        self._paths = paths
        self._held = [_opened(path) for path in paths]
        self._numbers = [_number(path) for path in paths]

    def is_still_there(self) -> bool:
        """Whether they are the same folders and files."""
        return [_number(path) for path in self._paths] == self._numbers

    def close(self) -> None:
        """Lets go of them."""
        for descriptor in self._held:
            if descriptor is not None:
                os.close(descriptor)
        self._held = []


def _opened(path: Path) -> int | None:
    if os.name == "nt":  # which opens no folders; its file systems use no number again so soon
        return None
    try:
        return os.open(path, os.O_RDONLY)
    except OSError:
        return None


def _number(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError:
        return (0, 0)
    return (status.st_dev, status.st_ino)
