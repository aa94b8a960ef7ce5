"""Tasks brought into a state by the transitions themselves, for the tests of what comes next."""

from __future__ import annotations

import uuid
from datetime import datetime
from typing import Any, Literal

from loop.core import transition as rules
from loop.core.result import Result
from loop.core.task import Task
from loop.store import queue
from loop.store.paths import Project
from loop.store.scan import locate


def submit(project: Project, now: datetime, text: str = "Do it", **fields: Any) -> Task:
    """A queued task."""
    return queue.submit(project, {"instructions": [text], **fields}, "architect", now).task


def claim(project: Project, task: Task, now: datetime) -> Task:
    """The task as it runs."""
    claimed = queue.claim(project, task.id, rules.new_run(task, str(uuid.uuid4()), now), now)
    assert claimed is not None
    return claimed


def settle(
    project: Project,
    task: Task,
    now: datetime,
    status: Literal["success", "failure", "needs_input"] = "success",
) -> Task:
    """The task as it stands in its result."""
    ended = rules.end_run(task, ended=now, status=status, reason=status, cost=0.5)
    result = Result(
        task_id=task.id, status=status, reason=status, summary="Done.", completed_at=now, task={}
    )
    queue.settle(project, ended, result, now)
    return locate(project, task.id, now).task
