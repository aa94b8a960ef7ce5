"""Several tasks at once: one transition, so all of them are queued, or none, and only once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from loop.core import transition as rules
from loop.core.event import Actor
from loop.core.rings import ring, shown
from loop.core.task import Task, task_dict, task_from
from loop.core.task_id import children_of, parent_of
from loop.errors import BadInput, LoopError
from loop.store.families import counting
from loop.store.ids import next_id
from loop.store.intake import require_all_taken_in
from loop.store.journal import Transition, transition
from loop.store.paths import Project
from loop.store.scan import Located, locate, read_task
from loop.store.submissions import (
    digest,
    plan_alike,
    plan_under_key,
    remember,
    remember_plan,
)


@dataclass(frozen=True, slots=True)
class Planned:
    """A task of a plan that was checked; parents come before their subtasks."""

    ref: str
    fields: dict[str, Any]
    #: refs of the plan
    needs: tuple[str, ...]
    #: ids of tasks that are there already
    needs_ids: tuple[str, ...]
    parent_ref: str | None
    parent_id: str | None


@dataclass(frozen=True, slots=True)
class Queued:
    """The ids of a plan by its refs; `note` is None when the plan is new."""

    ids: dict[str, str]
    note: str | None = None


def queue_all(
    project: Project,
    plan: Sequence[Planned],
    content: str,
    key: str | None,
    actor: Actor,
    now: datetime,
) -> Queued:
    """Queues the tasks of a plan, unless the same was sent before.

    `content` is the plan's digest, `key` the caller's own name for it.

    Raises:
        BadInput: the key was used for another plan; they would wait for each other.
        WrongState: a parent that is there already is not queued.
    """
    named = (i for p in plan for i in (p.parent_id, *p.needs_ids) if i is not None)
    require_all_taken_in(project, dict.fromkeys(named), now)
    with transition(project) as t:
        known = known_plan(project, content, key, now)
        if known is not None:
            return known
        found = ring_of(project, plan, now)
        if found is not None:
            raise BadInput("tasks", f"they would wait for each other: {shown(found)}")
        ids: dict[str, str] = {}
        tasks: dict[str, Task] = {}
        for planned in plan:
            parent = _parent(t, planned, ids, tasks, now)
            task_id = f"{parent.id}.{parent.children}" if parent else next_id(project)
            ids[planned.ref] = task_id
            inherited = {"priority": parent.priority, "parent": parent.id} if parent else {}
            fields = inherited | planned.fields | {"author": actor}
            tasks[task_id] = task_from(fields, task_id, now)
        for planned in plan:
            task_id = ids[planned.ref]
            needs = [*(ids[ref] for ref in planned.needs), *planned.needs_ids]
            tasks[task_id] = msgspec.structs.replace(tasks[task_id], depends_on=needs)
        new = set(ids.values())
        for task in tasks.values():
            t.put(project.task_file(project.queue, task.id), task_dict(task))
            if task.id in new:
                t.append(rules.submit(task, actor, now))
                remember(t, task, digest(task))
        remember_plan(t, ids, key, content)
    return Queued(ids)


def known_plan(project: Project, content: str, key: str | None, now: datetime) -> Queued | None:
    """What became of the same plan when it was sent before; None when it is to be queued.

    Under a key it was sent for ever; without one, as long as a task of it waits or runs.

    Raises:
        BadInput: the key was used for another plan.
    """
    sent = plan_under_key(project, key) if key is not None else None
    if sent is not None:
        ids, before = sent
        if before != content:
            first = next(iter(ids.values()), "?")
            raise BadInput("key", f"{key!r} was used for a plan (task {first}); take another key")
        return Queued(ids, "this plan was sent before; nothing was queued again")
    alike = plan_alike(project, content) if key is None else None
    if alike and any(_is_open(project, task_id, now) for task_id in alike.values()):
        return Queued(alike, "the same plan is queued already; nothing was queued again")
    return None


def _is_open(project: Project, task_id: str, now: datetime) -> bool:
    try:
        return locate(project, task_id, now).state in ("queued", "running")
    except LoopError:
        return False


def _parent(
    t: Transition, planned: Planned, ids: dict[str, str], tasks: dict[str, Task], now: datetime
) -> Task | None:
    """The parent of a planned task, counting it; None without one."""
    if planned.parent_ref is None and planned.parent_id is None:
        return None
    parent_id = ids[planned.parent_ref] if planned.parent_ref else str(planned.parent_id)
    if parent_id in tasks:
        located = Located("queued", tasks[parent_id])
    else:
        located = locate(t.project, parent_id, now)
    tasks[parent_id] = counting(located)
    return tasks[parent_id]


def ring_of(project: Project, plan: Sequence[Planned], now: datetime) -> list[str] | None:
    """A ring of tasks that would wait for each other, named by refs and ids; None without one.

    Tasks that are there can stand on new ones only as parents of them.
    """
    by_ref = {planned.ref: planned for planned in plan}
    below: dict[str, list[str]] = {}
    for planned in plan:
        parent = _parent_name(planned)
        if parent is not None:
            below.setdefault(parent, []).append(_ref(planned.ref))
    reaches_out = any(planned.parent_id for planned in plan)
    known: dict[str, Task | None] = {}

    def there(task_id: str) -> Task | None:
        if reaches_out and task_id not in known:
            known[task_id] = read_task(project.task_file(project.queue, task_id), task_id, now)
        return known.get(task_id)

    def needs(name: str) -> list[str]:
        found = [need for one in _upwards(name, by_ref) for need in _own(one, by_ref, there)]
        old = there(name[1:]) if name[0] == _ID else None
        parts = children_of(old.id, old.children) if old else []
        return [*found, *map(_id, parts), *below.get(name, [])]

    found = ring(map(_ref, by_ref), needs)
    return None if found is None else [_shown(name) for name in found]


#: First letters of the names of tasks: of the plan, or there already.
_REF, _ID = "r", "i"


def _ref(ref: str) -> str:
    return _REF + ref


def _id(task_id: str) -> str:
    return _ID + task_id


def _shown(name: str) -> str:
    return name[1:] if name[0] == _REF else f"task {name[1:]}"


def _parent_name(planned: Planned) -> str | None:
    if planned.parent_ref is not None:
        return _ref(planned.parent_ref)
    return None if planned.parent_id is None else _id(planned.parent_id)


def _upwards(name: str, by_ref: dict[str, Planned]) -> Iterator[str]:
    """A task and the ones that it is a part of, however far above."""
    above: str | None = name
    while above is not None:
        yield above
        if above[0] == _REF:
            above = _parent_name(by_ref[above[1:]])
        else:
            parent = parent_of(above[1:])
            above = None if parent is None else _id(parent)


def _own(name: str, by_ref: dict[str, Planned], there: Callable[[str], Task | None]) -> list[str]:
    """What a task itself depends on."""
    if name[0] == _REF:
        planned = by_ref[name[1:]]
        return [*map(_ref, planned.needs), *map(_id, planned.needs_ids)]
    task = there(name[1:])
    return [_id(need) for need in task.depends_on] if task else []
