"""The timeline on disk: lines appended under the state lock, read from an offset on.

A line cut by a crash stays cut: the next one begins on a new line, and readers pass over what is
no JSON object.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec

from loop.store.files import cannot_write


def append(path: Path, lines: bytes) -> None:
    """Appends whole lines in one write; only under the state lock."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            size = os.lseek(descriptor, 0, os.SEEK_END)
            if size and not _ends_in_newline(descriptor, size):
                lines = b"\n" + lines
            view = memoryview(lines)
            while view:
                view = view[os.write(descriptor, view) :]
        finally:
            os.close(descriptor)
    except OSError as error:
        raise cannot_write(path, error) from error


def _ends_in_newline(descriptor: int, size: int) -> bool:
    os.lseek(descriptor, size - 1, os.SEEK_SET)
    return os.read(descriptor, 1) == b"\n"


def size_of(path: Path) -> int:
    """Bytes of the timeline; 0 when there is none."""
    try:
        return path.stat().st_size
    except (FileNotFoundError, NotADirectoryError):
        return 0


def read_from(path: Path, offset: int) -> tuple[list[dict[str, Any]], int]:
    """The events behind `offset`, and the offset behind the last whole line."""
    try:
        with path.open("rb") as file:
            if offset > file.seek(0, os.SEEK_END):
                offset = 0  # the file was replaced by a shorter one
            file.seek(offset)
            data = file.read()
    except FileNotFoundError:
        return [], 0
    whole = data.rfind(b"\n") + 1
    return [e for e in map(_event, data[:whole].splitlines()) if e is not None], offset + whole


def _event(line: bytes) -> dict[str, Any] | None:
    try:
        event = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return event if isinstance(event, dict) and "event" in event else None


def last(path: Path, limit: int, task_id: str | None = None) -> list[dict[str, Any]]:
    """The last `limit` events, oldest first; of one task when `task_id` is given."""
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return []
    found: list[dict[str, Any]] = []
    with file:
        position = file.seek(0, os.SEEK_END)
        rest = b""
        while position and len(found) < limit:
            step = min(position, 1 << 16)
            position -= step
            file.seek(position)
            block = file.read(step) + rest
            lines = block.split(b"\n")
            rest = lines.pop(0) if position else b""
            for line in reversed(lines):
                event = _event(line)
                if event and (task_id is None or event.get("task_id") == task_id):
                    found.append(event)
                    if len(found) == limit:
                        break
    return found[::-1]
