"""The states that a person can put a task into, by our words and by those of other systems."""

from __future__ import annotations

import argparse
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from loop.core.task import TaskFields
    from loop.store.paths import Project

_WORDS = {
    "pending": "queued", "queued": "queued", "done": "success", "success": "success",
    "failed": "failure", "failure": "failure",
}  # fmt: skip
_REFUSED = {
    "in_progress": "a task runs when a worker takes it: `loop work` starts one",
    "running": "a task runs when a worker takes it: `loop work` starts one",
    "blocked": "a task is blocked while one that it depends on has failed: requeue that one, or "
    "change --depends",
    "needs_input": "only a run can ask; fail the task, or add a note to its description",
}
ENDED = ("success", "failure", "needs_input")


def status_word(text: str) -> str:
    """A type for the state that a task is to be put into."""
    word = text.strip().lower().replace("-", "_")
    if word in _REFUSED:
        raise argparse.ArgumentTypeError(f"can't be set to {word}: {_REFUSED[word]}")
    if word not in _WORDS:
        raise argparse.ArgumentTypeError(f"give pending, done or failed, not {text!r:.40}")
    return _WORDS[word]


def end(project: Project, task_id: str, status: str, now: datetime) -> bool:
    """Ends a task by hand as success or failure; False when there was nothing to do.

    Raises:
        WrongState: it runs, or ends with its subtasks.
    """
    from loop.actions.change import end_by_hand

    if status not in ("success", "failure"):
        return False
    end_by_hand(project, task_id, "success" if status == "success" else "failure", None,
                "user", now)  # fmt: skip
    return True


def run_again(project: Project, task_id: str, fields: TaskFields, now: datetime) -> None:
    """Has a task that has ended wait again, on the person's word.

    Raises:
        WrongState: it is not run itself.
    """
    from loop.actions.requeue import requeue

    requeue(project, task_id, fields, None, "user", now, fresh=False, from_user=True)
