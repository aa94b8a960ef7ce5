"""Taking in what others put into queue/: dropped tasks become ours, misfits go to invalid/."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

import msgspec

from loop.core import transition as rules
from loop.core.task import Task, decode_object, task_dict
from loop.core.task_id import checked_id, parent_of, stem
from loop.errors import BadInput, LoopError, NotFound, WrongState
from loop.store.dependencies import missing_dependency, refuse_rings, refuse_rings_of_child
from loop.store.families import counting
from loop.store.files import free_name, move_if_absent, read, replace
from loop.store.journal import Transition, transition
from loop.store.paths import Project
from loop.store.scan import (
    Misfit,
    QueueScan,
    QueueView,
    is_dropped,
    locate,
    read_result,
    read_task,
)
from loop.store.submissions import remember_content

#: Bytes of a name that leave room for what is added to it in invalid/.
_LONGEST_NAME = 200


def take_in(project: Project, view: QueueView, now: datetime) -> bool:
    """Deals with all dropped tasks and settled misfits of a look; whether anything was changed.

    What a young one refers to may be on its way, so it is left until then.
    """
    changed = False
    refused: list[Misfit] = []
    for task_id in _needed_first(view):
        problem = _take_in_task(project, task_id, now)
        changed = changed or problem is None
        if problem is not None and not (problem.may_pass and task_id in view.young):
            name = project.task_file(project.queue, task_id).name
            refused.append(Misfit(name, problem.reason, settled=True))
    # Only now, so that each file on a ring is told of the ring.
    for misfit in (*refused, *view.misfits):
        if misfit.settled:
            changed = set_aside(project, misfit) or changed
    return changed


def _needed_first(view: QueueView) -> list[str]:
    """The dropped tasks by id, but each after the dropped ones that it refers to."""
    dropped = set(view.dropped)
    placed: dict[str, None] = {}
    opened: set[str] = set()
    stack = view.dropped[::-1]
    while stack:
        task_id = stack[-1]
        above, _, number = task_id.rpartition(".")
        elder = f"{above}.{int(number) - 1}"
        needs = [above, elder, *view.tasks[task_id].depends_on] if task_id not in opened else []
        opened.add(task_id)
        missing = [need for need in needs if need in dropped and need not in opened]
        if missing:
            stack.extend(reversed(missing))
        else:
            placed[stack.pop()] = None
    return list(placed)


@dataclass(frozen=True, slots=True)
class _Problem:
    """Why a dropped task can't be taken in."""

    reason: str
    #: files that come later may mend it
    may_pass: bool = False


def _take_in_task(project: Project, task_id: str, now: datetime) -> _Problem | None:
    path = project.task_file(project.queue, task_id)
    with transition(project) as t:
        data = read(path)
        task = read_task(path, task_id, now)
        if data is None or task is None:
            return None
        elder = _elder(project, task_id, now)
        if elder is not None:
            return _Problem(
                f"the id {task_id} exists already ({elder}); drop it under a number that is free"
            )
        says_priority = "priority" in decode_object(data)
        joined = _joined(project, task, says_priority, now)
        if isinstance(joined, _Problem):
            return joined
        for one in joined:
            t.put(project.task_file(project.queue, one.id), task_dict(one))
        t.append(rules.submit(joined[0], "user", now))
        remember_content(t, joined[0])
    return None


def _joined(
    project: Project, task: Task, says_priority: bool, now: datetime
) -> list[Task] | _Problem:
    """A dropped task as it is to be queued and, of a subtask, its parent that counts it."""
    task = msgspec.structs.replace(task, children=_children_there(project, task.id, now))
    above = parent_of(task.id)
    if task.parent not in (None, above):
        name = f"{stem(str(task.parent))}.N.json"
        return _Problem(f"it says parent {task.parent}: then its file would be named {name}")
    missing = missing_dependency(project, task)
    if missing is not None:
        return _Problem(str(missing), may_pass=True)
    try:
        if above is None:
            refuse_rings(project, [task], now)
            return _early(project, task, now) or [task]
        located = locate(project, above, now)
        if located.state == "queued" and is_dropped(project, above, now):
            return _Problem(f"its parent {above} is no task yet", may_pass=True)
        number = int(task.id.rpartition(".")[2])
        parent = located.task
        if number > parent.children + 1:
            following = f"{stem(above)}.{parent.children + 1}.json"
            return _Problem(f"the next subtask of {above} would be {following}", may_pass=True)
        if number == parent.children + 1:
            parent = counting(located)
        priority = task.priority if says_priority else parent.priority
        child = msgspec.structs.replace(task, parent=above, priority=priority)
        refuse_rings_of_child(project, child, parent, now)
        joined = [child, parent] if parent is not located.task else [child]
        return _early(project, task, now) or joined
    except NotFound:
        return _Problem(f"there is no task {above} of which it could be a part", may_pass=True)
    except LoopError as error:
        return _Problem(str(error))


def _early(project: Project, task: Task, now: datetime) -> _Problem | None:
    """The problem of a task that depends on a file of which nobody knows yet if it is a task.

    Should it turn out to be none, its number would go to another.
    """
    for number, need in enumerate(task.depends_on):
        if _waits_untouched(project, need, now):
            return _Problem(f"depends_on[{number}]: {need} is no task yet", may_pass=True)
    return None


def _children_there(project: Project, task_id: str, now: datetime) -> int:
    """How many subtasks a task has whose file was dropped over; nearly always none."""
    number = 0
    with suppress(LoopError):
        while locate(project, f"{task_id}.{number + 1}", now).state != "queued" or not is_dropped(
            project, f"{task_id}.{number + 1}", now
        ):
            number += 1
    return number


def require_taken_in(project: Project, task_id: str, now: datetime) -> None:
    """Takes a dropped file in before anybody changes or ends its task, as the worker would.

    What was not looked at would else pass for one of ours. Any other task is left as it is.

    Raises:
        BadInput: `task_id` is no id.
        WrongState: the file can't be a task.
    """
    if not _waits_untouched(project, task_id, now):
        return
    for other in _needed_first(QueueScan(project, lambda: now).look()):
        _take_in_task(project, other, now)  # it may be referred to
    if _waits_untouched(project, task_id, now):
        problem = _take_in_task(project, checked_id(task_id), now)
        if problem is not None:
            name = project.task_file(project.queue, checked_id(task_id)).name
            raise WrongState(
                f".ai/queue/{name} is no task yet: {problem.reason}; mend or delete the file"
            )


def require_all_taken_in(project: Project, ids: Iterable[object], now: datetime) -> None:
    """The same for several ids as somebody gave them; those that are none are left to others.

    Raises:
        WrongState: one of the files can't be a task.
    """
    for given in ids:
        with suppress(BadInput):
            require_taken_in(project, checked_id(given), now)


def _waits_untouched(project: Project, task_id: str, now: datetime) -> bool:
    try:
        located = locate(project, task_id, now)
    except NotFound:
        return False
    return located.state == "queued" and is_dropped(project, located.task.id, now)


def note_dropped(t: Transition, task: Task, now: datetime) -> None:
    """A dropped file that is changed before the worker has seen it has a beginning, too."""
    if is_dropped(t.project, task.id, now):
        t.append(rules.submit(task, "user", now))


def clear_leftover(project: Project, task_id: str, now: datetime) -> bool:
    """Takes a copy out of queue/ that an equal or later run beside it has overtaken.

    A power cut can leave one; another task under a number that is taken looks the same. The
    former is removed, the latter goes to invalid/.
    """
    path = project.task_file(project.queue, task_id)
    with transition(project) as t:
        copy = read_task(path, task_id, now)
        newest = locate(project, task_id, now) if copy is not None else None
        if copy is None or newest is None or newest.state == "queued":
            return False
        if copy.created_at == newest.task.created_at:
            t.remove(path)
            return True
        reason = f"the id {task_id} exists already ({newest.state}); take a number that is free"
        return set_aside(project, Misfit(path.name, reason, settled=True))


def _elder(project: Project, task_id: str, now: datetime) -> str | None:
    """Where another task of this id stands; None when the id is free."""
    if read_task(project.task_file(project.running, task_id), task_id, now):
        return "running"
    result = read_result(project, task_id)
    if result is None:
        there = project.task_file(project.completed, task_id).exists()
        return "settled, in a file that can't be read" if there else None
    return result.status


def set_aside(project: Project, misfit: Misfit) -> bool:
    """Moves a file from queue/ to invalid/ with its reason beside it; nothing there is replaced."""
    source = project.queue / misfit.name
    if not source.is_file():
        return False
    project.invalid.mkdir(exist_ok=True)
    stem = misfit.name if len(os.fsencode(misfit.name)) <= _LONGEST_NAME else misfit.name[:50]
    number = 0
    while True:
        name = stem if not number else f"{stem}.{number}"
        if move_if_absent(source, project.invalid / name):
            break
        number += 1
    replace(project.invalid / f"{name}.reason", f"{misfit.reason}\n".encode())
    return True


def set_aside_running(project: Project, name: str, reason: str) -> None:
    """Moves an unreadable record, or a folder in its place, from running/ to invalid/."""
    target = free_name(project.invalid / f"running.{name}")
    with suppress(FileNotFoundError):
        (project.running / name).rename(target)
        replace(target.with_name(f"{target.name}.reason"), f"{reason}\n".encode())


def invalid_files(project: Project) -> list[tuple[str, str]]:
    """Names and reasons of what lies in invalid/, by name."""
    found = []
    for path in sorted(project.invalid.glob("*.reason")):
        reason = path.read_text(encoding="utf-8", errors="replace").strip()
        found.append((path.name.removesuffix(".reason"), reason))
    return found


def waiting_misfit(view: QueueView) -> bool:
    """Whether a file is still being waited for, or for what it refers to."""
    return bool(view.dropped) or any(not misfit.settled for misfit in view.misfits)
