"""How far in the timeline each service has been told: one small file and one lock a service.

Who holds a service's lock is the only one to send to it. The place is written down AFTER a service
took a message: a process that dies between the two has it sent once more, since a question that
arrives twice is a smaller evil than one that never does. No other service sees it twice.

The bytes before the place are remembered too. Where they are not there any more, the timeline was
cut, rotated or replaced: it is read from its beginning, and what is older than what was read last
is passed over. A service without a file begins at the end: nothing of the past is sent.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from loop.store import timeline
from loop.store.files import read, replace
from loop.store.locks import FileLock
from loop.store.paths import Project

#: Bytes before the place by which the timeline is known again.
_KNOWN_BYTES = 256
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


class Place(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How far a service has been told, and how it went."""

    offset: int
    #: checksum of the bytes before the offset
    before: int = 0
    #: time of the last event before it
    ts: datetime = _LONG_AGO
    #: how often sending what comes next has failed
    tries: int = 0
    #: not to be tried before; None when it may be tried at once
    wait_until: datetime | None = None
    #: when the service last took a message
    sent: datetime | None = None


def services(project: Project) -> set[str]:
    """The services that something is written down of."""
    return {path.stem for path in project.notified.glob("*.json")}


def forget(project: Project, service: str) -> None:
    """Forgets how far a service has been told."""
    _file(project, service).unlink(missing_ok=True)


@contextmanager
def only_sender(project: Project, service: str) -> Iterator[bool]:
    """Holds a service's lock for a block of code; False when somebody else does."""
    project.notified.mkdir(exist_ok=True)
    lock = FileLock(project.notified / f"{service}.lock")
    held = lock.try_acquire()
    try:
        yield held
    finally:
        lock.release()


def place_of(project: Project, service: str) -> Place | None:
    """How far a service has been told; None when nothing was ever written down."""
    try:
        return msgspec.json.decode(read(_file(project, service)) or b"", type=Place)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def put_place(project: Project, service: str, place: Place, *, durable: bool = True) -> None:
    """Writes down how far a service has been told; `durable` as in store/files.py."""
    project.notified.mkdir(exist_ok=True)
    replace(_file(project, service), msgspec.json.encode(place), durable=durable)


def begin(project: Project, service: str, at: int | None = None) -> Place:
    """Where a service stands; a new one at an offset, None for the end of the timeline."""
    place = place_of(project, service)
    if place is None:
        path = project.timeline
        size = timeline.size_of(path)
        offset = size if at is None else min(at, size)
        newest = timeline.last(path, 1) if offset == size else []
        ts = max(map(_time, newest), default=_LONG_AGO)
        place = Place(offset=offset, before=_sum(path, offset), ts=ts)
        put_place(project, service, place)
    return place


def events_after(project: Project, place: Place) -> tuple[list[dict[str, Any]], Place]:
    """The events behind a place, and the place behind them."""
    path = project.timeline
    known = _sum(path, place.offset) == place.before and timeline.size_of(path) >= place.offset
    events, offset = timeline.read_from(path, place.offset if known else 0)
    if not known:
        events = [event for event in events if _time(event) > place.ts]
    ts = max([place.ts, *map(_time, events)])
    return events, msgspec.structs.replace(place, offset=offset, before=_sum(path, offset), ts=ts)


def _sum(path: Path, offset: int) -> int:
    try:
        with path.open("rb") as file:
            begin = max(0, offset - _KNOWN_BYTES)
            file.seek(begin)
            return zlib.crc32(file.read(offset - begin))
    except FileNotFoundError:
        return 0


def _time(event: dict[str, Any]) -> datetime:
    try:
        ts = datetime.fromisoformat(str(event.get("ts")))
    except ValueError:
        return _LONG_AGO
    return ts if ts.tzinfo else ts.replace(tzinfo=UTC)


def _file(project: Project, service: str) -> Path:
    return project.notified / f"{service}.json"


def last_failure(project: Project) -> dict[str, Any] | None:
    """The last event of a notification that failed, unless its service has taken one since.

    One that is forgotten does not count.
    """
    for event in reversed(timeline.last(project.timeline, 500)):
        if event["event"] == "notification_failed":
            place = place_of(project, str(event.get("service")))
            if place is not None:
                later = place.sent is not None and place.sent > _time(event)
                return None if later else event
    return None
