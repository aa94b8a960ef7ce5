"""Reading a run's log: the raw stream of Claude Code between our own lines."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from loop.core.transcript import Transcript

#: A longer line is passed over; Claude Code writes whole files into one line.
MAX_LINE_BYTES = 64 * 1024 * 1024
_BLOCK_BYTES = 1024 * 1024
#: How our lines about any run begin; one of another run ends the part of a run.
_ANY_RUN = b'{"type":"loop","run":"'


def run_mark(run_uuid: str) -> bytes:
    """How each line of ours about a run begins."""
    return f'{{"type":"loop","run":"{run_uuid}"'.encode()


def offset_of(log: Path, run_uuid: str) -> int | None:
    """Where our first line of a run stands in the log; None when it is not there."""
    mark = run_mark(run_uuid)
    try:
        with log.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view:
            at = view.find(mark)
            while at > 0 and view[at - 1 : at] != b"\n":
                at = view.find(mark, at + 1)
            return at if at >= 0 else None
    except (FileNotFoundError, ValueError):  # mmap refuses an empty file
        return None


def started_line(log: Path, run_uuid: str) -> dict[str, Any] | None:
    """Our first line of a run, which names its shim; None when it is not there."""
    offset = offset_of(log, run_uuid)
    if offset is None:
        return None
    with log.open("rb") as file:
        file.seek(offset)
        return _object(file.readline(1 << 20))


def ended_line(log: Path, run_uuid: str) -> dict[str, Any] | None:
    """Our last line of a run, which says how it ended; None when it is not there."""
    mark = run_mark(run_uuid) + b',"event":"ended"'
    try:
        with log.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view:
            at = view.rfind(mark)
            if at < 0 or (at > 0 and view[at - 1 : at] != b"\n"):
                return None
            view.seek(at)
            return _object(view.readline())
    except (FileNotFoundError, ValueError):  # mmap refuses an empty file
        return None


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        decoded = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return decoded if isinstance(decoded, dict) else None


def read_run(log: Path, run_uuid: str) -> Transcript:
    """All that the log says of a run."""
    reader = RunReader(log, run_uuid)
    reader.catch_up()
    return reader.transcript


class RunReader:
    """Reads a run's part of the log as it grows: `catch_up` takes in what is new."""

    def __init__(self, log: Path, run_uuid: str) -> None:
        self.run_uuid = run_uuid
        self.transcript = Transcript()
        self._log = log
        self._offset: int | None = None

    def catch_up(self) -> None:
        """Takes in the whole lines that came since the last time."""
        if self._offset is None:
            self._offset = offset_of(self._log, self.run_uuid)
        if self._offset is None:
            return
        try:
            for line in self._new_lines():
                self.transcript.feed(line)
        except FileNotFoundError:  # somebody removed the log; what was read counts
            return

    def _new_lines(self) -> Iterator[bytes]:
        assert self._offset is not None
        mark = run_mark(self.run_uuid)
        rest = b""
        dropping = False
        with self._log.open("rb") as file:
            file.seek(self._offset)
            while block := file.read(_BLOCK_BYTES):
                *whole, rest = (rest + block).split(b"\n")
                for line in whole:
                    if line.startswith(_ANY_RUN) and not line.startswith(mark):
                        return
                    self._offset += len(line) + 1
                    if dropping:
                        dropping = False
                        self.transcript.damaged += 1
                    else:
                        yield line
                if len(rest) > MAX_LINE_BYTES:
                    self._offset += len(rest)
                    rest, dropping = b"", True
