"""Locks of the operating system, which die with their holder. What differs by platform is here.

- The *state lock* is short and taken for every transition. Never across git, a spawn or a wait.
- The *worker's lock* is long: its holder is the owner, the one process that has runs executed.
- The *log lock* says that a run is alive: the shim takes it, the Builder inherits it.

A lock file is never removed by us. Where somebody else removes it, the holder's file and the one
under the path differ; `still_there` tells.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from loop.errors import Busy, NotFound
from loop.store.files import cannot_write

if os.name == "nt":
    import msvcrt

    #: A byte far behind any content: locks of Windows forbid reading and writing what they cover.
    _FAR = 1 << 40

    def _try_lock(descriptor: int) -> bool:
        os.lseek(descriptor, _FAR, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
        except OSError:
            return False
        return True

    def wait_unlocked(descriptor: int) -> None:
        """Returns when nobody holds the lock on an open file."""
        while not _try_lock(descriptor):
            time.sleep(0.2)
        os.lseek(descriptor, _FAR, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)  # type: ignore[attr-defined,unused-ignore]

    _is_free = _try_lock

else:
    import fcntl

    def _try_lock(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def wait_unlocked(descriptor: int) -> None:
        """Returns when nobody holds the lock on an open file."""
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        fcntl.flock(descriptor, fcntl.LOCK_UN)

    def _is_free(descriptor: int) -> bool:
        try:  # a shared lock, so that two who look do not take each other for a holder
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


class FileLock:
    """A lock on a file, held by this object until `release` or the death of the process."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor: int | None = None

    def try_acquire(self) -> bool:
        """Takes the lock if it is free.

        Raises:
            LoopError: the lock file can't be opened.
        """
        descriptor = _open(self.path)
        if _try_lock(descriptor) and _is_at(descriptor, self.path):
            self._descriptor = descriptor
            return True
        os.close(descriptor)
        return False

    @property
    def held(self) -> bool:
        """Whether this object holds the lock."""
        return self._descriptor is not None

    def still_there(self) -> bool:
        """Whether the lock is held and its file is still the one under the path."""
        return self._descriptor is not None and _is_at(self._descriptor, self.path)

    def write(self, data: bytes) -> None:
        """Writes into the lock file who holds it; only for people to read."""
        if self._descriptor is not None:
            os.ftruncate(self._descriptor, 0)
            os.lseek(self._descriptor, 0, os.SEEK_SET)
            os.write(self._descriptor, data)

    def release(self) -> None:
        """Gives the lock back; nothing happens when it is not held."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def _open(path: Path) -> int:
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)
    try:
        return os.open(path, flags, 0o600)
    except FileNotFoundError:
        raise NotFound(f"{path.parent} is gone: run `loop init` again") from None
    except OSError as error:
        raise cannot_write(path, error) from error


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        there = path.stat()
    except OSError:
        return False
    ours = os.fstat(descriptor)
    return (ours.st_ino, ours.st_dev) == (there.st_ino, there.st_dev)


def is_locked(path: Path) -> bool:
    """Whether somebody holds the lock on a file; False when there is no file."""
    try:
        descriptor = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        return not _is_free(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def locked(path: Path, *, within_s: float = 10) -> Iterator[None]:
    """Holds a short lock for a block of code.

    Raises:
        Busy: somebody held it for longer than `within_s`.
    """
    lock = FileLock(path)
    deadline = time.monotonic() + within_s
    pause_s = 0.0005
    while not lock.try_acquire():
        if time.monotonic() > deadline:
            raise Busy(f"{path} has been locked for {within_s:g} s by another process; try again")
        time.sleep(pause_s)
        pause_s = min(pause_s * 2, 0.02)
    try:
        yield
    finally:
        with suppress(OSError):
            lock.release()
