"""Keeping the raw logs bounded: after a run a log keeps its head and its tail."""

from __future__ import annotations

import os
from pathlib import Path

from loop.store.files import replace
from loop.store.locks import FileLock

#: A log larger than this is cut after its run.
MAX_LOG_BYTES = 20_000_000
_HEAD_BYTES = 2_000_000


def cap_log(log: Path, max_bytes: int = MAX_LOG_BYTES, head_bytes: int = _HEAD_BYTES) -> bool:
    """Cuts the middle out of a log that is too large and that no run holds; whether it did.

    Whole lines are kept, and a line of ours says how much is gone.
    """
    try:
        if log.stat().st_size <= max_bytes:
            return False
    except FileNotFoundError:
        return False
    lock = FileLock(log)
    if not lock.try_acquire():
        return False
    try:
        with log.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(0)
            head = file.read(head_bytes)
            head = head[: head.rfind(b"\n") + 1]
            file.seek(size - (max_bytes - head_bytes))
            file.readline()
            tail_at = file.tell()
            tail = file.read()
        gone = tail_at - len(head)
        note = f'{{"type":"loop","event":"cut","bytes":{gone}}}\n'.encode()
        replace(log, head + note + tail)
    finally:
        lock.release()
    return True
