"""The log of a task, as the lock of its runs and the place of our own lines.

Owns: taking the log for a run, our lines in it, and the question whether a run was ever launched
or voided. Does not own what the Builder writes there.

A run is alive while the lock on its log is held. The lock belongs to the open file, which the
Builder inherits as its stdout, so it outlives the shim. (Windows: the lock is the shim's alone.)
Our lines begin with `{"type":"loop","run":"UUID"`, at the start of a line, in this order of keys:
readers search for these bytes. Any such line, whatever its event, means that this run must not be
launched again; so whoever holds the lock can void a run that was never launched.
"""
# pathlib is too slow to import on the way to the Builder's start:
# ruff: noqa: PTH116, PTH120

from __future__ import annotations

import json
import mmap
import os
import sys
import time

#: Windows only: the byte that is locked, far behind any log, since its locks forbid reading.
WINDOWS_LOCK_AT_BYTES = 0x7FFF0000
_LOCK_PAUSE_S = 0.01

if sys.platform == "win32":
    import msvcrt

    def try_lock(fd: int) -> bool:
        """Take the lock of the log unless somebody holds it."""
        os.lseek(fd, WINDOWS_LOCK_AT_BYTES, os.SEEK_SET)
        try:
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def unlock(fd: int) -> None:
        """Give the lock back."""
        os.lseek(fd, WINDOWS_LOCK_AT_BYTES, os.SEEK_SET)
        msvcrt.locking(fd, msvcrt.LK_UNLCK, 1)

    def read_at(fd: int, size_bytes: int, offset_bytes: int) -> bytes:
        """Up to `size_bytes` from `offset_bytes` on."""
        os.lseek(fd, offset_bytes, os.SEEK_SET)
        return os.read(fd, size_bytes)

    def for_builder(fd: int, path: str) -> int:
        """The descriptor for the Builder's stdout: an own one, since positions are shared here."""
        del fd
        own = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_BINARY)
        os.lseek(own, 0, os.SEEK_END)
        return own

else:
    import fcntl

    def try_lock(fd: int) -> bool:
        """Take the lock of the log unless somebody holds it."""
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def unlock(fd: int) -> None:
        """Give the lock back, for every process that inherited it."""
        fcntl.flock(fd, fcntl.LOCK_UN)

    def read_at(fd: int, size_bytes: int, offset_bytes: int) -> bytes:
        """Up to `size_bytes` from `offset_bytes` on; the position shared with others stays."""
        return os.pread(fd, size_bytes, offset_bytes)

    def for_builder(fd: int, path: str) -> int:
        """The descriptor for the Builder's stdout: the locked one, so that the lock goes along."""
        del path
        return fd


class Refused(Exception):
    """Raised when a run may not be launched; the text says why."""


def prefix(run: str) -> bytes:
    """How each of our lines about `run` begins."""
    return b'{"type":"loop","run":' + json.dumps(run).encode()


def was_launched(fd: int, run: str) -> bool:
    """Whether the log holds a line of ours about `run`: it was launched, or voided."""
    if os.fstat(fd).st_size == 0:
        return False
    wanted = prefix(run)
    with mmap.mmap(fd, 0, access=mmap.ACCESS_READ) as log:
        at = log.find(wanted)
        while at > 0 and log[at - 1] != ord("\n"):
            at = log.find(wanted, at + 1)
    return at >= 0


def claim(path: str, run: str, patience_s: float) -> int:
    """Open the log and lock it for `run`, waiting `patience_s` for a reader to let go of it.

    Raises:
        Refused: somebody else keeps the log, or this run was launched or voided before.
        OSError: the log can't be opened.
    """
    deadline = time.monotonic() + patience_s
    fd = _open(path)
    while True:
        locked = try_lock(fd)
        if locked and not _is_at(fd, path):
            os.close(fd)
            fd = _open(path)
        elif was_launched(fd, run):
            os.close(fd)
            raise Refused(f"run {run} was launched or voided before")
        elif locked:
            return fd
        if time.monotonic() >= deadline:
            os.close(fd)
            raise Refused(f"another run holds {path}")
        if not locked:
            time.sleep(_LOCK_PAUSE_S)


def append(fd: int, run: str, fields: dict[str, object]) -> None:
    """Append one line of ours about `run`, on a line of its own, and sync it.

    Raises:
        OSError: it could not be written whole.
    """
    line = {"type": "loop", "run": run, **fields}
    data = json.dumps(line, separators=(",", ":")).encode() + b"\n"
    size = os.fstat(fd).st_size
    if size and read_at(fd, 1, size - 1) != b"\n":
        data = b"\n" + data
    written = os.write(fd, data)
    while written < len(data):
        written += os.write(fd, data[written:])
    os.fsync(fd)


def sync_folder(path: str) -> None:
    """Make the name `path` itself durable, where folders can be synced."""
    if sys.platform != "win32":
        folder = os.open(os.path.dirname(path), os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _open(path: str) -> int:
    binary = getattr(os, "O_BINARY", 0)
    return os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | binary, 0o600)


def _is_at(fd: int, path: str) -> bool:
    """Whether `path` still names the file that `fd` is."""
    try:
        return os.path.samestat(os.fstat(fd), os.stat(path))
    except FileNotFoundError:
        return False
