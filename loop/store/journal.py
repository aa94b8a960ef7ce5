"""One transition, whole: files put, events appended, files moved or removed, under one lock.

Calling sequence: `with transition(project) as t:` read what is there, decide, then `t.put(...)`,
`t.append(...)`, `t.move(...)`, `t.remove(...)`. Nothing happens until the block ends without error.

    step                                   crash after it: what the next holder of the lock does
    1 intent written (what is to be done)  all of it
    2 text added to logs                   sees by the log's size that it is there
    3 files put (fsync, rename)            the same again: putting a file twice changes nothing
    4 events appended                      sees by the timeline's size that they are there
    5 files moved                          moves what is left
    6 files removed                        removes what is left
    7 intent cleared                       nothing: it is done

A crash before step 1 has changed nothing. So every transition happens once and has one story in the
timeline, whoever dies. The intent is written in place, with its length and checksum, since making
and removing a file costs more than all the rest; one that is not whole was not begun. New copies
are put before old ones are removed; meanwhile the higher run wins.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field

from loop.core.event import Event, event_line
from loop.core.task import encode
from loop.errors import LoopError
from loop.store import timeline
from loop.store.files import free_name, move_aside, overwrite, read, replace, sync_folder
from loop.store.locks import locked
from loop.store.paths import Project

_HEADER_BYTES = 20


class _Intent(Struct, kw_only=True):
    """What a transition is about to do. Paths are relative to `.ai`."""

    #: name, content in base64, whether it must survive a power cut
    puts: list[tuple[str, str, bool]] = field(default_factory=list)
    #: name, text, size of the log before
    adds: list[tuple[str, str, int]] = field(default_factory=list)
    lines: str = ""
    timeline_size: int = 0
    #: name, new name
    moves: list[tuple[str, str]] = field(default_factory=list)
    removes: list[str] = field(default_factory=list)


class Transition:
    """What is to be done when the block ends."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self._intent = _Intent()
        self._lines = b""
        self._told: Callable[[], None] | None = None

    def put(self, path: Path, data: bytes | dict[str, Any], *, durable: bool = True) -> None:
        """Puts a file, in the place of what is there; `durable` as in store/files.py."""
        content = data if isinstance(data, bytes) else encode(data)
        self._intent.puts.append((self._name(path), base64.b64encode(content).decode(), durable))

    def add(self, path: Path, lines: str) -> None:
        """Adds whole lines to the end of a log, before any file is put; once a log."""
        self._intent.adds.append((self._name(path), lines, timeline.size_of(path)))

    def append(self, *events: Event) -> None:
        """Appends events to the timeline, in this order."""
        self._lines += b"".join(event_line(event) for event in events)

    def move(self, source: Path, target: Path) -> None:
        """Moves a file, after the events; one that is not there is no error, none is replaced."""
        self._intent.moves.append((self._name(source), self._name(target)))

    def remove(self, *paths: Path) -> None:
        """Removes files, after all else; those that are not there are no error."""
        self._intent.removes.extend(self._name(path) for path in paths)

    def on_told(self, call: Callable[[], None]) -> None:
        """Has `call` made once the files are put and the events appended, before the removals."""
        self._told = call

    def _name(self, path: Path) -> str:
        return path.relative_to(self.project.ai).as_posix()

    def _commit(self) -> None:
        intent = self._intent
        if not any((intent.puts, intent.adds, self._lines, intent.moves, intent.removes)):
            return
        intent.lines = self._lines.decode()
        intent.timeline_size = timeline.size_of(self.project.timeline)
        body = msgspec.json.encode(intent)
        journal = _journal(self.project)
        overwrite(journal, _header(body) + body)
        try:
            _carry_out(self.project, intent, self._told)
        except (LoopError, OSError):
            if not _is_begun(self.project, intent):
                overwrite(journal, _header(b""))  # whoever is told of the error may rely on it
            raise
        overwrite(journal, _header(b""))


def _journal(project: Project) -> Path:
    return project.state / "intent"


def _header(body: bytes) -> bytes:
    return b"%010d %08x\n" % (len(body), zlib.crc32(body))


def _is_begun(project: Project, intent: _Intent) -> bool:
    if not intent.puts:
        return True
    name, content, _ = intent.puts[0]
    return read(project.ai / name) == base64.b64decode(content)


def interrupted(project: Project) -> bool:
    """Whether a transition was begun that nobody has finished yet."""
    return _pending(project) is not None


def _pending(project: Project) -> _Intent | None:
    data = read(_journal(project)) or b""
    head, body = data[:_HEADER_BYTES], data[_HEADER_BYTES:]
    length = int(head[:10]) if head[:10].isdigit() else 0
    if not length or head != _header(body[:length]):
        return None
    intent = msgspec.json.decode(body[:length], type=_Intent)
    names = [
        *(name for name, _, _ in intent.puts),
        *(name for name, _, _ in intent.adds),
        *(name for pair in intent.moves for name in pair),
        *intent.removes,
    ]
    return intent if all(_lies_inside(project, name) for name in names) else None


def _lies_inside(project: Project, name: str) -> bool:
    """Whether it is a file of `.ai`, links followed: a commit can bring an intent, too."""
    path = project.ai / name
    return ".." not in path.parts and path.parent.resolve().is_relative_to(project.ai.resolve())


@contextmanager
def transition(project: Project) -> Iterator[Transition]:
    """The state lock, held for one transition; see the module's text.

    Raises:
        Busy: the lock could not be had.
        LoopError: the disk does not take it. Then nothing happened, or (when the first file was
            put already) the next transition finishes it.
    """
    with locked(project.state_lock):
        _finish_interrupted(project)
        current = Transition(project)
        yield current
        current._commit()


def _finish_interrupted(project: Project) -> None:
    intent = _pending(project)
    if intent is not None:
        _carry_out(project, intent)
        overwrite(_journal(project), _header(b""))


def _carry_out(project: Project, intent: _Intent, told: Callable[[], None] | None = None) -> None:
    for name, text, size in intent.adds:
        _append_once(project.ai / name, text.encode(), size)
    for name, content, durable in intent.puts:
        _make_way(project, project.ai / name)
        replace(project.ai / name, base64.b64decode(content), durable=durable)
    lines = intent.lines.encode()
    if lines:
        _append_once(project.timeline, lines, intent.timeline_size)
    if told is not None:
        told()
    folders = set()
    for source, target in intent.moves:
        move_aside(project.ai / source, project.ai / target)
        folders |= {(project.ai / source).parent, (project.ai / target).parent}
    for name in intent.removes:
        path = project.ai / name
        if path.is_file() or path.is_symlink():
            path.unlink(missing_ok=True)
            folders.add(path.parent)
    for folder in folders:
        sync_folder(folder)


def _make_way(project: Project, path: Path) -> None:
    """Moves a folder that stands in the place of a file to invalid/: it would stop everything."""
    if path.is_dir() and not path.is_symlink():
        aside = free_name(project.invalid / f"{path.parent.name}.{path.name}")
        path.rename(aside)
        reason = b"a folder in the place of a file\n"
        replace(aside.with_name(f"{aside.name}.reason"), reason, durable=False)


def _append_once(path: Path, lines: bytes, size_before: int) -> None:
    size = timeline.size_of(path)
    if size > size_before:
        with path.open("r+b") as file:
            file.seek(size_before)
            there = file.read()
            if lines in there:
                return
            if (b"\n" + lines).startswith(there) or lines.startswith(there):
                file.truncate(size_before)  # a full disk cut our own lines
    timeline.append(path, lines)
