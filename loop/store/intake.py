"""Taking in what others put into queue/: dropped tasks become ours, misfits go to invalid/."""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import datetime

from loop.core import transition as rules
from loop.core.task import task_dict
from loop.store.files import free_name, move_if_absent, replace
from loop.store.journal import transition
from loop.store.paths import Project
from loop.store.scan import Misfit, QueueView, locate, read_result, read_task
from loop.store.submissions import remember_content

#: Bytes of a name that leave room for what is added to it in invalid/.
_LONGEST_NAME = 200


def take_in(project: Project, view: QueueView, now: datetime) -> bool:
    """Deals with all dropped tasks and settled misfits of a look; whether anything was changed."""
    changed = False
    for task_id in view.dropped:
        changed = _take_in_task(project, task_id, now) or changed
    for misfit in view.misfits:
        if misfit.settled:
            changed = set_aside(project, misfit) or changed
    return changed


def _take_in_task(project: Project, task_id: str, now: datetime) -> bool:
    path = project.task_file(project.queue, task_id)
    with transition(project) as t:
        task = read_task(path, task_id, now)
        if task is None:
            return False
        elder = _elder(project, task_id, now)
        if elder is None:
            t.put(path, task_dict(task))
            t.append(rules.submit(task, "user", now))
            remember_content(t, task)
            return True
    reason = f"the id {task_id} exists already ({elder}); drop it under a number that is free"
    return set_aside(project, Misfit(path.name, reason, settled=True))


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
    """Whether a file is still being waited for."""
    return any(not misfit.settled for misfit in view.misfits)
