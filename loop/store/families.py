"""Parents and subtasks on disk: one joins its parent, a run splits its task."""

from __future__ import annotations

from datetime import datetime

import msgspec

from loop.core.event import Actor, TaskRequeued
from loop.core.needs import ancestors
from loop.core.task import Task, task_dict
from loop.core.task_id import is_id
from loop.errors import BadInput, NotFound, WrongState
from loop.store.dependencies import refuse_rings_of_child, require_dependencies
from loop.store.journal import Transition
from loop.store.paths import Project
from loop.store.scan import Located, family, locate

#: Why a task with subtasks has no acceptance commands.
NOT_RUN_ITSELF = (
    "has acceptance commands, but one with subtasks is not run itself: give them to a subtask that "
    "depends on the others"
)


def adopt(t: Transition, draft: Task, now: datetime) -> Task:
    """A new subtask with its id, as a part of its transition; its parent counts it.

    Raises:
        NotFound: there is no such parent.
        WrongState: the parent is not queued.
        BadInput: a dependency is not there, or waits for the parent; subtasks nest too deeply.
    """
    assert draft.parent is not None
    parent = counting(locate(t.project, draft.parent, now))
    child_id = f"{parent.id}.{parent.children}"
    child = msgspec.structs.replace(draft, id=child_id, parent=parent.id)
    require_dependencies(t.project, child)
    refuse_rings_of_child(t.project, child, parent, now)
    t.put(t.project.task_file(t.project.queue, parent.id), task_dict(parent))
    return child


def counting(located: Located) -> Task:
    """A parent with one subtask more.

    Raises:
        WrongState: it does not wait in the queue.
        BadInput: subtasks nest too deeply, or it has commands to pass, which it never would be
            held to.
    """
    parent = located.task
    if located.state != "queued":
        raise WrongState(
            f"task {parent.id} is {located.state}: subtasks can only be added while it waits"
        )
    counted = msgspec.structs.replace(parent, children=parent.children + 1)
    if not is_id(f"{parent.id}.{counted.children}"):
        raise BadInput("parent", f"{parent.id} is too deep down, or has too many subtasks already")
    if parent.acceptance:
        way = f"edit_task {parent.id} with an empty acceptance takes them from it"
        raise BadInput("parent", f"task {parent.id} {NOT_RUN_ITSELF}; {way}")
    return counted


def failed_below(project: Project, parent: Task, now: datetime) -> list[Task]:
    """The subtasks that a parent failed by: all that failed or were cancelled.

    Raises:
        WrongState: there are none.
    """
    parts = [part for part in family(project, parent, now) if not part.task.children]
    failed = [part.task for part in parts if part.state == "failure"]
    asking = [part.task.id for part in parts if part.state == "needs_input"]
    if not failed and asking:
        raise WrongState(
            f"subtask {asking[0]} of task {parent.id} asks: answer it by requeueing it"
        )
    if not failed:
        raise WrongState(
            f"task {parent.id} is not run itself, and no subtask of it has failed: requeue the "
            "one that is to run again"
        )
    return failed


def reopen_parents(t: Transition, tasks: list[Task], actor: Actor, now: datetime) -> list[Task]:
    """Puts the settled parents of requeued subtasks back into the queue, within a transition."""
    reopened = []
    for above in dict.fromkeys(above for task in tasks for above in ancestors(task.id)):
        try:
            located = locate(t.project, above, now)
        except NotFound:
            continue
        if located.result is None:
            continue
        parent = msgspec.structs.replace(located.task, run=located.task.run + 1)
        t.put(t.project.task_file(t.project.queue, above), task_dict(parent))
        t.append(TaskRequeued(ts=now, actor=actor, task_id=above, run=parent.run))
        t.remove(t.project.task_file(t.project.completed, above))
        reopened.append(parent)
    return reopened
