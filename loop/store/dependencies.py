"""Dependencies against the folders: whether they are there, form no ring, and who is blocked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import datetime

import msgspec
from msgspec import Struct

from loop.core.event import TaskBlocked
from loop.core.graph import Graph, Stored
from loop.core.needs import ancestors, dependencies, unmet
from loop.core.rings import ring, shown
from loop.core.task import Task
from loop.core.task_id import children_of
from loop.errors import BadInput, LoopError
from loop.store.archive import results_of
from loop.store.files import read
from loop.store.journal import transition
from loop.store.paths import Project
from loop.store.scan import Located, locate, read_task


def missing_dependency(project: Project, task: Task) -> BadInput | None:
    """The refusal of a task that depends on one that is not there; None when all are."""
    for number, need in enumerate(task.depends_on):
        if not _exists(project, need):
            return BadInput(f"depends_on[{number}]", f"there is no task {need}")
    return None


def require_dependencies(project: Project, task: Task) -> None:
    """Refuses dependencies that are not there.

    Raises:
        BadInput: names the first of them.
    """
    missing = missing_dependency(project, task)
    if missing is not None:
        raise missing


def _exists(project: Project, task_id: str) -> bool:
    folders = (project.queue, project.completed, project.running)
    here = any(project.task_file(folder, task_id).exists() for folder in folders)
    return here or bool(results_of(project, task_id))


def refuse_rings(
    project: Project, changed: Iterable[Task], now: datetime, *, parents: Iterable[Task] = ()
) -> None:
    """Refuses what would make tasks wait for each other; only under the state lock.

    `changed` are the tasks as they are to be queued. `parents` get new subtasks and are the same
    else: what they depend on was looked at when they came. Only what the changed ones stand on is
    read; nothing can stand on a task that is new, unless it has a parent.

    Raises:
        BadInput: prints the ring.
    """
    starts = {task.id: task for task in changed}
    known: dict[str, Task | None] = {
        task.id: msgspec.structs.replace(task, depends_on=[]) for task in parents
    }
    known |= starts

    def queued(task_id: str) -> Task | None:
        if task_id not in known:
            path = project.task_file(project.queue, task_id)
            known[task_id] = read_task(path, task_id, now)
        return known[task_id]

    def needs(task_id: str) -> Iterable[str]:
        task = queued(task_id)
        if task is None:
            return ()
        return [*dependencies(task, queued), *children_of(task_id, task.children)]

    found = ring(starts, needs)
    if found is not None:
        raise BadInput("depends_on", f"tasks would wait for each other: {shown(found)}")


def refuse_rings_of_child(project: Project, child: Task, parent: Task, now: datetime) -> None:
    """Refuses a new subtask that stands on what waits for its parent; `parent` counts it.

    Raises:
        BadInput: prints the ring.
    """
    # Its parent stands on the other subtasks already, so none of them can stand on the parent.
    others = [n for n in child.depends_on if not n.startswith(f"{parent.id}.")]
    if others:
        above = [_queued(project, task_id, now) for task_id in ancestors(parent.id)]
        parents = [parent, *(task for task in above if task is not None)]
        alone = msgspec.structs.replace(child, depends_on=others)
        refuse_rings(project, [alone], now, parents=parents)


def _queued(project: Project, task_id: str, now: datetime) -> Task | None:
    return read_task(project.task_file(project.queue, task_id), task_id, now)


class _Ending(Struct):
    """As much of a result as others need to know."""

    status: str
    cause: str | None = None


_ENDING = msgspec.json.Decoder(_Ending)


def graph_of(project: Project, queued: Mapping[str, Task], now: datetime) -> Graph:
    """The graph of the queued tasks; what they stand on is read when it is asked for."""
    return Graph(queued, lambda task_id: stored(project, task_id, now))


def stored(project: Project, task_id: str, now: datetime) -> Stored | None:
    """How a task stands by its files; None when there is none."""
    elsewhere = (project.queue, project.running)
    if not any(project.task_file(folder, task_id).exists() for folder in elsewhere):
        # Nearly always; then what else the result holds need not be read.
        data = read(project.task_file(project.completed, task_id))
        with suppress(msgspec.DecodeError, UnicodeDecodeError):
            ending = _ENDING.decode(data or b"")
            return Stored(ending.status, ending.cause)
    located = _located(project, task_id, now)
    if located is None:
        return None
    return Stored(located.state, located.result.cause if located.result else None)


def _located(project: Project, task_id: str, now: datetime) -> Located | None:
    try:
        return locate(project, task_id, now)
    except LoopError:
        return None


def is_ready(project: Project, task: Task, now: datetime) -> bool:
    """Whether a queued task can run, by the files as they are now."""
    known: dict[str, Located | None] = {}

    def located(task_id: str) -> Located | None:
        if task_id not in known:
            known[task_id] = _located(project, task_id, now)
        return known[task_id]

    def queued(task_id: str) -> Task | None:
        found = located(task_id)
        return found.task if found is not None and found.state == "queued" else None

    def state_of(task_id: str) -> str | None:
        found = located(task_id)
        return found.state if found is not None else None

    return not task.children and next(unmet(task, queued, state_of), None) is None


def queued_below(project: Project, task: Task, now: datetime) -> dict[str, Task]:
    """A queued task, the queued ones that it stands on, however far, and the parents of these."""
    found: dict[str, Task] = {}
    opened: set[str] = set()
    stack = [task.id]
    while stack:
        task_id = stack.pop()
        located = _located(project, task_id, now) if task_id not in opened else None
        opened.add(task_id)
        if located is None or located.state != "queued":
            continue
        found[task_id] = located.task
        stack.extend(located.task.depends_on)
        stack.extend(children_of(task_id, located.task.children))
        for above in ancestors(task_id):
            parent = found.get(above) or _queued(project, above, now)
            if parent is None:
                break
            found[above] = parent
            stack.extend(parent.depends_on)
    return found


def note_blocked(project: Project, blocked: Mapping[str, str], now: datetime) -> bool:
    """Puts each block into the timeline, once a cause for as long as it lasts; whether one was new.

    `blocked` are all blocked tasks now, each with its cause.
    """
    path = project.state / "blocked.json"
    if not blocked and read(path) is None:
        return False
    with transition(project) as t:
        known = _known(read(path) or b"{}")
        told = {i: known.get(i, []) for i in blocked}
        new = {i: cause for i, cause in blocked.items() if cause not in told[i]}
        told |= {i: [*told[i], cause] for i, cause in new.items()}
        if told != known:
            t.put(path, msgspec.json.encode(told), durable=False)
        for task_id, cause in new.items():
            t.append(TaskBlocked(ts=now, actor="builder", task_id=task_id, cause=cause))
    return bool(new)


def _known(data: bytes) -> dict[str, list[str]]:
    try:
        return msgspec.json.decode(data, type=dict[str, list[str]])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return {}
