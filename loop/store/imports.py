"""Taking tasks in from another system: queued ones and ones that have ended there.

Each task keeps its old id as `imported_id`, by which a second import knows it. All tasks are put by
one transition: a parent is never there without its subtasks, nor a task without what it depends on.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

import msgspec

from loop.core import transition as rules
from loop.core.result import Result, result_dict
from loop.core.task import Task, decode_object, task_dict, task_from
from loop.core.task_id import is_id, parent_of
from loop.errors import BadInput, NotFound
from loop.store.archive import archives
from loop.store.files import read
from loop.store.ids import next_id
from loop.store.journal import Transition, transition
from loop.store.locks import locked
from loop.store.paths import Project
from loop.store.scan import ids_in, locate

_WAIT_S = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A task of another system; `depends_on` and `parent` are old ids."""

    old_id: str
    #: fields of the task, without its id and what it stands on
    fields: dict[str, Any]
    state: Literal["queued", "success", "failure"] = "queued"
    depends_on: tuple[str, ...] = ()
    parent: str | None = None
    #: when it ended there
    completed_at: datetime
    #: of its work, oldest first
    commits: tuple[str, ...] = ()


@contextmanager
def one_import(project: Project) -> Iterator[None]:
    """Held for a whole import, so that two at once do not take in the same.

    An import in whose middle an earlier one died is finished first.

    Raises:
        Busy: another import goes on.
    """
    with locked(project.state / "import.lock", within_s=_WAIT_S):
        with transition(project):
            pass
        yield


def imported_ids(project: Project) -> dict[str, str]:
    """The ids of all tasks that were imported, by their old ids."""
    found: dict[str, str] = {}
    away = [folder / "completed" for folder in archives(project)]
    for folder in (project.queue, project.running, project.completed, *away):
        for task_id in ids_in(folder):
            try:
                data = read(project.task_file(folder, task_id)) or b""
            except OSError:
                continue
            if b'"imported_id"' not in data:
                continue  # decoding all files of a long history would take its time
            try:
                raw = decode_object(data)
            except BadInput:
                continue
            task = raw.get("task", raw)
            old = task.get("imported_id") if isinstance(task, dict) else None
            if isinstance(old, str):
                found[old] = task_id
    return found


def takes_subtasks(project: Project, task_id: str, now: datetime) -> bool:
    """Whether a task still takes subtasks: it is queued, and no run of its own has begun."""
    try:
        located = locate(project, task_id, now)
    except NotFound:
        return False
    return located.state == "queued" and bool(not located.task.runs or located.task.children)


def take_in_drafts(
    project: Project, drafts: Sequence[Draft], known: Mapping[str, str], now: datetime
) -> dict[str, str]:
    """Puts drafts into queue/ or completed/, all or none; the new ids by the old ones.

    Ids are given in the order of `drafts`, parents first; there must be no ring of parents. `known`
    are the ids that were given before. One whose parent takes no subtasks any more becomes a task
    of its own.
    """
    with transition(project) as t:
        numbers = _Numbers(project, now)
        ids = numbers.given(drafts, known)
        events = []
        for draft in drafts:
            task_id = ids[draft.old_id]
            links = {
                "depends_on": [ids[old] for old in draft.depends_on if old in ids],
                "parent": parent_of(task_id),
                "children": numbers.children.get(task_id, 0),
            }
            task = task_from(draft.fields | links, task_id, now)
            events.append(rules.submit(task, "user", now))
            _put(t, task, draft)
        t.append(*events)
        for task_id in numbers.grown:
            parent = locate(project, task_id, now).task
            counted = msgspec.structs.replace(parent, children=numbers.children[task_id])
            t.put(project.task_file(project.queue, task_id), task_dict(counted))
    _sync()
    return {draft.old_id: ids[draft.old_id] for draft in drafts}


def _put(t: Transition, task: Task, draft: Draft) -> None:
    # Thousands are not synced one by one: see `_sync`.
    project = t.project
    if draft.state == "queued":
        t.put(project.task_file(project.queue, task.id), task_dict(task), durable=False)
    else:
        result = result_dict(_result(task, draft))
        t.put(project.task_file(project.completed, task.id), result, durable=False)


class _Numbers:
    """Gives out ids; those of subtasks follow on each other below their parent, which counts them.

    Only under the state lock.
    """

    def __init__(self, project: Project, now: datetime) -> None:
        self._project = project
        self._now = now
        #: how many subtasks each parent has
        self.children: dict[str, int] = {}
        #: tasks that were there before and get subtasks
        self.grown: set[str] = set()

    def given(self, drafts: Sequence[Draft], known: Mapping[str, str]) -> dict[str, str]:
        """The ids of the drafts, with those known before."""
        ids = dict(known)
        by_old = {draft.old_id: draft for draft in drafts}
        for draft in drafts:
            chain = [draft]
            while (above := chain[-1].parent) in by_old and above not in ids:
                chain.append(by_old[above])
            for one in reversed(chain):
                if one.old_id not in ids:
                    parent = ids.get(one.parent or "")
                    was_there = one.parent in known
                    ids[one.old_id] = self._below(parent, was_there) or next_id(self._project)
        return ids

    def _below(self, parent: str | None, was_there: bool) -> str | None:
        """The id of the next subtask; None when there is no parent that takes one."""
        if parent is None:
            return None
        if was_there and parent not in self.grown:
            if not takes_subtasks(self._project, parent, self._now):
                return None
            self.children[parent] = locate(self._project, parent, self._now).task.children
        number = self.children.get(parent, 0) + 1
        task_id = f"{parent}.{number}"
        if not is_id(task_id) or self._is_taken(task_id):
            return None
        self.children[parent] = number
        if was_there:
            self.grown.add(parent)
        return task_id

    def _is_taken(self, task_id: str) -> bool:
        p = self._project
        folders = (p.queue, p.running, p.completed)
        return any(p.task_file(folder, task_id).exists() for folder in folders)


def _sync() -> None:
    """Makes the import survive a power cut, once for all of its files."""
    if hasattr(os, "sync"):
        os.sync()


def _result(task: Task, draft: Draft) -> Result:
    done = draft.state == "success"
    words = "Done" if done else "Failed"
    return Result(
        task_id=task.id,
        status="success" if done else "failure",
        reason="imported",
        summary=f"{words} before the import, as {draft.old_id}.",
        remarks=task.notes,
        completed_at=draft.completed_at,
        notes=task.notes,
        commit_hash=draft.commits[-1] if draft.commits else None,
        commits=list(draft.commits),
        task=task_dict(task),
    )
