"""Reading the folders: which tasks there are, in which state, and which files can't be tasks.

The folders are the state. Where two copies of a task are found, the higher run wins; at equal run
completed wins over running over queued. What was archived counts where there is no other copy.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from loop.core.collecting import uncollected
from loop.core.result import Result, decode_result, task_in
from loop.core.task import Task, decode_file, decode_task
from loop.core.task_id import checked_id, children_of, id_of_file, right_name, sort_key
from loop.errors import BadInput, NotFound
from loop.store.archive import results_of
from loop.store.files import read
from loop.store.paths import Project
from loop.store.timeline import size_of

#: A file that can't be read as a task is waited for this long since it last changed.
QUIET_S = 5.0
_NO_FILE = (0, 0, 0)
READ_FLAGS = os.O_RDONLY | getattr(os, "O_BINARY", 0)


@dataclass(frozen=True, slots=True)
class Located:
    """A task and where it stands; `result` is there when it is settled."""

    state: str
    task: Task
    result: Result | None = None


def ids_in(folder: Path) -> list[str]:
    """The ids of the task files in a folder, in no order."""
    return [task_id for name in _names(folder) if (task_id := id_of_file(name)) is not None]


def count_files(folder: Path) -> int:
    """How many task files a folder holds, without a look at their names."""
    return sum(name.endswith(".json") and name[0] != "." for name in _names(folder))


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208 -- a Path for each of 10,000 names takes its time
    except (FileNotFoundError, NotADirectoryError):
        return []


def locate(project: Project, task_id: str, now: datetime) -> Located:
    """The task of an id that may come from outside.

    Raises:
        BadInput: it is not an id.
        NotFound: no task has it.
    """
    task_id = checked_id(task_id)
    for _ in range(2):  # it may move from one folder to the next while we look
        found = _copies(project, task_id, now)
        best = max(found, key=lambda pair: pair[0], default=None)
        if best is not None:
            break
    if best is None:
        raise NotFound(f"no task {task_id} in {project.root}: list_tasks shows those there are")
    return best[1]


def _copies(
    project: Project, task_id: str, now: datetime
) -> Iterator[tuple[tuple[int, int], Located]]:
    result = read_result(project, task_id)
    if result is not None:
        with suppress(BadInput):
            task = task_in(result)
            yield (task.run, 2), Located(result.status, task, result)
    for rank, folder, state in ((1, project.running, "running"), (0, project.queue, "queued")):
        task_or_none = read_task(project.task_file(folder, task_id), task_id, now)
        if task_or_none is not None:
            yield (task_or_none.run, rank), Located(state, task_or_none)


def read_task(path: Path, task_id: str, now: datetime) -> Task | None:
    """The task in a file of queue/ or running/; None when there is none that can be read."""
    try:
        data = read(path)
        return None if data is None else decode_task(data, task_id, now)
    except (BadInput, IsADirectoryError, PermissionError):
        return None


def family(project: Project, task: Task, now: datetime) -> Iterator[Located]:
    """All subtasks of a task, however deep, each after those that it is a part of."""
    stack = [task]
    while stack:
        parent = stack.pop()
        for child in children_of(parent.id, parent.children):
            with suppress(NotFound):
                located = locate(project, child, now)
                yield located
                if located.task.children:
                    stack.append(located.task)


def is_dropped(project: Project, task_id: str, now: datetime) -> bool:
    """Whether the file of a queued task was put there by others and nobody has taken it in yet."""
    data = read(project.task_file(project.queue, task_id))
    return data is not None and not decode_file(data, task_id, now)[1]


def read_result(project: Project, task_id: str) -> Result | None:
    """The result of a task, also an archived one; None when there is none that can be read."""
    try:
        data = read(project.task_file(project.completed, task_id))
        if data is None:
            data = next(filter(None, map(read, results_of(project, task_id))), None)
        return None if data is None else decode_result(data)
    except (BadInput, IsADirectoryError, PermissionError):
        return None


@dataclass(slots=True)
class Misfit:
    """A file in queue/ that can't be a task."""

    name: str
    reason: str
    #: it has not changed for a while and can be moved to invalid/
    settled: bool


@dataclass(slots=True)
class QueueView:
    """What lies in queue/ at one moment."""

    #: bytes of the timeline before that
    timeline_bytes: int = 0
    tasks: dict[str, Task] = field(default_factory=dict)
    #: ids of files that a person or another program dropped and nobody has taken in yet
    dropped: list[str] = field(default_factory=list)
    #: of these, those that changed a moment ago: what they refer to may be on its way
    young: set[str] = field(default_factory=set)
    misfits: list[Misfit] = field(default_factory=list)


@dataclass(slots=True)
class _Seen:
    signature: tuple[int, int, int]
    since: float
    task: Task | None
    dropped: bool
    reason: str


def _signature(stat: os.stat_result) -> tuple[int, int, int]:
    return stat.st_mtime_ns, stat.st_size, stat.st_ino


class QueueScan:
    """Looks at queue/ again and again; a file that has not changed is not read again."""

    def __init__(
        self,
        project: Project,
        now: Callable[[], datetime],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._project = project
        self._now = now
        self._monotonic = monotonic
        self._seen: dict[str, _Seen] = {}
        self._changed: set[str] = set()

    @uncollected()
    def look(self) -> QueueView:
        """What lies there now."""
        view = QueueView(size_of(self._project.timeline))
        seen: dict[str, _Seen] = {}
        now = self._monotonic()
        for entry in self._entries():
            known = self._read(entry)
            if known is None:
                continue
            name = entry.name
            seen[name] = known
            is_new = self._seen.get(name) is not known
            if known.task is None:
                if is_new:
                    self._note_changed(name)
                view.misfits.append(Misfit(name, known.reason, now - known.since >= QUIET_S))
                continue
            view.tasks[known.task.id] = known.task
            if is_new:
                self._changed.add(known.task.id)
            if known.dropped:
                view.dropped.append(known.task.id)
                if now - known.since < QUIET_S:
                    view.young.add(known.task.id)
        for name in self._seen.keys() - seen.keys():
            self._note_changed(name)
        self._seen = seen
        view.dropped.sort(key=sort_key)
        return view

    def take_changes(self) -> set[str]:
        """The tasks whose files came, went or changed since this was asked the last time."""
        changed, self._changed = self._changed, set()
        return changed

    def _note_changed(self, name: str) -> None:
        task_id = id_of_file(name)
        if task_id is not None:
            self._changed.add(task_id)

    def _entries(self) -> Iterator[os.DirEntry[str]]:
        try:
            with os.scandir(self._project.queue) as entries:
                for entry in entries:
                    if entry.name.endswith(".json") and not entry.name.startswith("."):
                        yield entry
        except FileNotFoundError:
            return

    def _read(self, entry: os.DirEntry[str]) -> _Seen | None:
        try:
            known = self._seen.get(entry.name)
            is_file = known is not None and known.signature != _NO_FILE
            if known is not None and is_file and known.signature == _signature(entry.stat()):
                return known
            if not entry.is_file():
                return self._no_task(entry.name, "is not a file")
            return self._decode(entry)
        except FileNotFoundError:
            return None
        except OSError as error:
            return self._no_task(entry.name, f"can't be read: {error.strerror}")

    def _no_task(self, name: str, reason: str) -> _Seen:
        known = self._seen.get(name)
        if known is not None and known.reason == reason:
            return known
        return _Seen(_NO_FILE, self._monotonic(), None, False, reason)

    def _decode(self, entry: os.DirEntry[str]) -> _Seen:
        now = self._monotonic()
        # No Path and no file object for each of 10,000 files.
        descriptor = os.open(entry.path, READ_FLAGS)
        try:
            stat = os.fstat(descriptor)
            signature = _signature(stat)
            data = os.read(descriptor, stat.st_size + 1)
            while more := os.read(descriptor, 1 << 20) if len(data) != stat.st_size else b"":
                data += more
        finally:
            os.close(descriptor)
        task_id = id_of_file(entry.name)
        if task_id is None:
            right = right_name(entry.name)
            hint = f"name it {right}" if right else "a task's name is a number such as 0042.json"
            return _Seen(signature, now, None, False, f"wrong name: {hint}")
        try:
            task, is_ours = decode_file(data, task_id, self._now())
        except BadInput as error:
            return _Seen(signature, now, None, False, str(error))
        return _Seen(signature, now, task, not is_ours, "")
