"""The next task from a cold start: as little as possible is read of a queue of thousands.

The choice is that of the graph. Of each file only what the graph reads is taken, which costs a
third; the task that was chosen is read in full, and another one is, where it turns out to be none.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from typing import cast

import msgspec
from msgspec import Struct, field

from loop.core.collecting import uncollected
from loop.core.task import Priority, Task, decode_task
from loop.core.task_id import id_of_file, is_id
from loop.errors import BadInput, LoopError
from loop.store.dependencies import graph_of
from loop.store.paths import Project
from loop.store.scan import READ_FLAGS, locate


class _Brief(Struct, gc=False):
    """As much of a task as the graph reads."""

    id: str = ""
    priority: Priority = "normal"
    depends_on: list[str] = field(default_factory=list)
    children: int = 0


_BRIEF = msgspec.json.Decoder(_Brief)
_USUAL_BYTES = 1 << 16


def next_task(project: Project, now: datetime) -> Task | None:
    """The task that runs next; None when none is ready."""
    queued = _read(project, now)
    graph = graph_of(project, queued, now)
    while (first := graph.next_ready()) is not None:
        with suppress(LoopError):
            located = locate(project, first.id, now)
            if located.state == "queued":  # else its file is a leftover, or another of its id
                return located.task
        del queued[first.id]
        graph.update(queued, [first.id])
    return None


@uncollected()
def _read(project: Project, now: datetime) -> dict[str, Task]:
    return {task.id: task for task in _tasks(project, now)}


def _tasks(project: Project, now: datetime) -> Iterator[Task]:
    try:
        names = os.listdir(project.queue)  # noqa: PTH208 -- a Path for each of 10,000 takes its time
    except (FileNotFoundError, NotADirectoryError):
        return
    for name in names:
        task_id = id_of_file(name)
        if task_id is None or name.startswith("."):
            continue
        try:
            yield _task(_content(os.path.join(project.queue, name)), task_id, now)  # noqa: PTH118
        except (BadInput, OSError):
            continue


def _content(path: str) -> bytes:
    descriptor = os.open(path, READ_FLAGS)
    try:
        data = os.read(descriptor, _USUAL_BYTES)
        while len(data) >= _USUAL_BYTES and (more := os.read(descriptor, 1 << 20)):
            data += more
        return data
    finally:
        os.close(descriptor)


def _task(data: bytes, task_id: str, now: datetime) -> Task:
    try:
        brief = _BRIEF.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return decode_task(data, task_id, now)
    if brief.depends_on and not all(map(is_id, brief.depends_on)):
        return decode_task(data, task_id, now)
    brief.id = task_id
    return cast(Task, brief)  # to the graph it is one
