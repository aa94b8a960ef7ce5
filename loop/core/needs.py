"""What a task waits for: by its own words and by those of the tasks that it is a part of.

Whoever chooses a task asks here: worker, command line, hook, and the claim itself. `queued` gives
the task of an id that waits in the queue, `state_of` the state of one that does not. Nothing
recurses, and no more is asked than the answer needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from loop.core.task import Task
from loop.core.task_id import parent_of

Queued = Callable[[str], Task | None]
#: None: there is no such task
StateOf = Callable[[str], str | None]


def ancestors(task_id: str) -> Iterator[str]:
    """The tasks that a subtask is a part of, the nearest first: `42.1`, `42` for `42.1.3`."""
    above = parent_of(task_id)
    while above is not None:
        yield above
        above = parent_of(above)


def dependencies(task: Task, queued: Queued) -> Iterator[str]:
    """What a task depends on, and what the waiting tasks depend on that it is a part of.

    A parent that has ended hands nothing down any more, from above it neither.
    """
    yield from task.depends_on
    for above in ancestors(task.id):
        parent = queued(above)
        if parent is None:
            return
        yield from parent.depends_on


def leaves(task_id: str, queued: Queued) -> Iterator[str]:
    """The subtasks of a waiting parent that are no waiting parents; of any other task itself.

    The last come first: they are the last to run, so who looks for one that is open finds it soon.
    """
    stack = [iter((task_id,))]
    while stack:
        current = next(stack[-1], None)
        if current is None:
            stack.pop()
            continue
        task = queued(current)
        if task is None or not task.children:
            yield current
        else:
            stack.append(_children_backwards(task))


def _children_backwards(task: Task) -> Iterator[str]:
    return (f"{task.id}.{number}" for number in range(task.children, 0, -1))


def below(task: Task, queued: Queued) -> Iterator[Task]:
    """All waiting subtasks of a task, however deep."""
    stack = [_children_backwards(task)]
    while stack:
        child = next(stack[-1], None)
        if child is None:
            stack.pop()
            continue
        found = queued(child)
        if found is not None:
            yield found
            stack.append(_children_backwards(found))


def is_done(task_id: str, queued: Queued, state_of: StateOf) -> bool:
    """Whether a task is a success; a waiting parent is one when all of its subtasks are."""
    task = queued(task_id)
    if task is None or not task.children:  # nearly all
        return task is None and state_of(task_id) == "success"
    return all(
        queued(leaf) is None and state_of(leaf) == "success" for leaf in leaves(task_id, queued)
    )


def unmet(task: Task, queued: Queued, state_of: StateOf) -> Iterator[str]:
    """The dependencies that a task still waits for. Without one it is ready, if it is no parent."""
    for need in dependencies(task, queued):
        if not is_done(need, queued, state_of):
            yield need
