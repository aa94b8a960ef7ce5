"""One transition, whole: files put, events appended, files removed, under the state lock.

Calling sequence: `with transition(project) as t:` read what is there, decide, then `t.put(...)`,
`t.append(...)`, `t.remove(...)`. Nothing happens until the block ends without an error.

    step                                   crash after it: what the next holder of the lock does
    1 intent written (what is to be done)  all of it
    2 files put (fsync, rename)            the same again: putting a file twice changes nothing
    3 events appended                      sees by the timeline's size that they are there
    4 files removed                        removes what is left
    5 intent removed                       nothing: it is done

A crash before step 1 has changed nothing. So every transition happens once and has one story in the
timeline, whoever dies. New copies are put before old ones are removed; meanwhile the higher run
wins.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field

from loop.core.event import Event, event_line
from loop.core.task import encode
from loop.store import timeline
from loop.store.files import replace, sync_folder
from loop.store.locks import locked
from loop.store.paths import Project


class _Intent(Struct, kw_only=True):
    """What a transition is about to do. Paths are relative to `.ai`."""

    #: name, content in base64, whether it must survive a power cut
    puts: list[tuple[str, str, bool]] = field(default_factory=list)
    lines: str = ""
    timeline_size: int = 0
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

    def append(self, *events: Event) -> None:
        """Appends events to the timeline, in this order."""
        self._lines += b"".join(event_line(event) for event in events)

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
        if not (intent.puts or self._lines or intent.removes):
            return
        intent.lines = self._lines.decode()
        intent.timeline_size = timeline.size_of(self.project.timeline)
        journal = _journal(self.project)
        replace(journal, msgspec.json.encode(intent), durable=False)
        _carry_out(self.project, intent, self._told)
        journal.unlink(missing_ok=True)


def _journal(project: Project) -> Path:
    return project.state / "intent.json"


@contextmanager
def transition(project: Project) -> Iterator[Transition]:
    """The state lock, held for one transition; see the module's text.

    Raises:
        Busy: the lock could not be had.
        LoopError: the disk does not take it; what was begun is finished by the next transition.
    """
    with locked(project.state_lock):
        _finish_interrupted(project)
        current = Transition(project)
        yield current
        current._commit()


def _finish_interrupted(project: Project) -> None:
    journal = _journal(project)
    try:
        data = journal.read_bytes()
    except FileNotFoundError:
        return
    try:
        intent = msgspec.json.decode(data, type=_Intent)
    except (msgspec.DecodeError, UnicodeDecodeError):
        pass  # torn by a power cut: nothing of it was begun
    else:
        _carry_out(project, intent)
    journal.unlink(missing_ok=True)


def _carry_out(project: Project, intent: _Intent, told: Callable[[], None] | None = None) -> None:
    for name, content, durable in intent.puts:
        replace(project.ai / name, base64.b64decode(content), durable=durable)
    lines = intent.lines.encode()
    if lines:
        _append_once(project.timeline, lines, intent.timeline_size)
    if told is not None:
        told()
    folders = set()
    for name in intent.removes:
        path = project.ai / name
        if path.is_file() or path.is_symlink():
            path.unlink(missing_ok=True)
            folders.add(path.parent)
    for folder in folders:
        sync_folder(folder)


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
