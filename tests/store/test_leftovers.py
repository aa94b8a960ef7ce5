"""Copies in queue/ beside a later one of the same id."""

from __future__ import annotations

from datetime import datetime

import pytest

from loop.core.task import encode
from loop.store import queue
from loop.store.intake import clear_leftover
from loop.store.paths import Project


@pytest.fixture
def cancelled(project: Project, now: datetime) -> bytes:
    """What queue/0001.json held before task 1 was cancelled."""
    queue.submit(project, {"instructions": "x"}, "user", now)
    data = project.task_file(project.queue, "1").read_bytes()
    queue.cancel_queued(project, "1", "user", now)
    return data


def test_a_copy_left_in_the_queue_by_a_power_cut_is_removed(
    project: Project, now: datetime, cancelled: bytes
) -> None:
    queued = project.task_file(project.queue, "1")
    queued.write_bytes(cancelled)
    assert clear_leftover(project, "1", now)
    assert not queued.exists()
    assert list(project.invalid.iterdir()) == []


def test_another_task_under_a_taken_number_is_set_aside(
    project: Project, now: datetime, cancelled: bytes
) -> None:
    other = {"id": "1", "run": 1, "instructions": "y", "created_at": "2020-01-01T00:00:00Z"}
    queued = project.task_file(project.queue, "1")
    queued.write_bytes(encode(other))
    assert clear_leftover(project, "1", now)
    assert not queued.exists()
    assert (project.invalid / "0001.json").exists()


def test_a_task_that_waits_is_left_alone(project: Project, now: datetime) -> None:
    queue.submit(project, {"instructions": "x"}, "user", now)
    assert not clear_leftover(project, "1", now)
    assert project.task_file(project.queue, "1").exists()
