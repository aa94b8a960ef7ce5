"""The next task from a cold start is the one that the whole graph names."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import pytest

from loop.store import queue
from loop.store.dependencies import graph_of
from loop.store.next_task import next_task
from loop.store.paths import Project
from loop.store.scan import QueueScan
from tests.tasks import claim, settle, submit


def _drop(project: Project, task_id: str, data: bytes | dict[str, Any]) -> None:
    content = data if isinstance(data, bytes) else json.dumps(data).encode()
    project.task_file(project.queue, task_id).write_bytes(content)


@pytest.mark.parametrize(
    "first",
    [
        {"instructions": "x", "priority": "high"},
        {"instructions": "x", "priority": 3, "depends_on": ["0001"]},
        {"instructions": "x", "priority": 3, "depends_on": [1], "title": None},
        {"instructions": "x", "priority": 3, "depends_on": None},
        {"instructions": "x", "priority": 3, "depends_on": [3]},
        {"instructions": "x", "priority": 3, "depends_on": ["7"]},
        {"instructions": "x" * 300_000, "priority": 3},
        {"instructions": [], "priority": 3},
        {"instructions": "x", "priority": "urgent"},
        {"title": "x", "priority": 3},
        b"\xef\xbb\xbf" + b'{"instructions": "x", "priority": 3}',
        b'{"instructions": "x", "prio',
        b"\xff",
        b"[" * 5000,
        b"",
    ],
)
def test_it_is_the_one_that_the_whole_graph_names(
    project: Project, now: datetime, first: bytes | dict[str, Any]
) -> None:
    settle(project, claim(project, submit(project, now), now), now)
    submit(project, now, "other", depends_on=["1"])
    submit(project, now, "third", depends_on=["2"])
    _drop(project, "4", first)
    (project.queue / "0005.json").mkdir()
    (project.queue / "notes.json").write_text("{}")
    whole = graph_of(project, QueueScan(project, lambda: now).look().tasks, now).next_ready()
    assert whole is not None
    assert next_task(project, now) == whole


def test_of_an_empty_or_absent_queue_there_is_none(project: Project, now: datetime) -> None:
    assert next_task(project, now) is None
    project.queue.rmdir()
    assert next_task(project, now) is None


def test_subtasks_come_in_the_place_of_their_parent(project: Project, now: datetime) -> None:
    submit(project, now, "whole")
    queue.submit(project, {"instructions": "part", "parent": "1"}, "user", now)
    task = next_task(project, now)
    assert task is not None
    assert (task.id, task.instructions) == ("1.1", ["part"])


def test_a_file_under_the_id_of_a_task_that_has_ended_is_not_next(
    project: Project, now: datetime
) -> None:
    settle(project, claim(project, submit(project, now), now), now)
    submit(project, now, "second")
    _drop(project, "1", {"instructions": "another", "priority": "high"})
    task = next_task(project, now)
    assert task is not None and task.id == "2"
