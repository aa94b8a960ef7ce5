"""What others are told of an interactive session that works: who it is, and where its log is.

A session leaves no stream of ours: how many turns it took and what it cost is not known, so nothing
is said of that. Claude Code keeps the transcript itself.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from loop.builder.session import is_alive
from loop.builder.sessions import transcript_of
from loop.core.task import Task
from loop.errors import LoopError
from loop.store.paths import Project
from loop.store.shift import at_hand, living

#: Who ends a run that was asked to end, and when.
ENDS_AT_STOP = "an interactive session works on it: it ends at that session's next stop"


def in_session(task: Task) -> bool:
    """Whether the last run of a task is one that an interactive session does, or did."""
    return bool(task.runs) and task.runs[-1].driver == "session"


def shift_data(project: Project, now: datetime) -> dict[str, Any] | None:
    """The shift in force, for status; None when there is none."""
    shift = living(project, is_alive)
    if shift is None:
        return None
    try:
        task = at_hand(project, shift, now)
    except LoopError:
        task = None
    return {
        "session": shift.session,
        "pid": shift.pid,
        "since": f"{shift.since:%Y-%m-%dT%H:%M:%SZ}",
        "task": task.id if task is not None else None,
        "iterations": shift.iterations,
        "stopping": shift.stop,
        "limits": msgspec.to_builtins(shift.limits),
    }


def where_to_look(task: Task, env: Mapping[str, str] | None = None) -> str | None:
    """Where one sees what a session did in the task's last run; None when that has a log."""
    if not in_session(task):
        return None
    run = task.runs[-1]
    path = transcript_of(run.session, os.environ if env is None else env) if run.session else None
    opened = f"its transcript is {path}, `claude --resume {run.session}` opens it"
    there = opened if path else "review_changes shows what it changed"
    return f"run {run.number} of task {task.id} is an interactive session's and has no log; {there}"
