"""Dropping snapshots that nobody will ask for any more.

A task's snapshots go together, once the newest of them is older than `checkpoint.keep_days`, and
never while the task is not settled. What was committed stays.
"""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime, timedelta

from loop.errors import LoopError
from loop.git.command import Repository
from loop.git.snapshot import drop, project_refs
from loop.store.paths import Project
from loop.store.scan import locate


def prune(
    project: Project,
    repository: Repository,
    keep_days: int,
    now: datetime,
    *,
    but: str | None = None,
) -> list[str]:
    """Drops the snapshots of tasks that were settled long ago; the ids of these tasks.

    Those of the task `but` stay, whatever the clock says.

    Raises:
        GitError: git refused.
    """
    folder = f"{project_refs(project.root)}/"
    listed = repository.git.text(
        "for-each-ref", "--format=%(creatordate:unix) %(refname)", folder.rstrip("/")
    )
    names: dict[str, list[str]] = defaultdict(list)
    newest: dict[str, int] = defaultdict(int)
    for line in listed.splitlines():
        seconds, name = line.split(" ", 1)
        task_id = name.removeprefix(folder).partition("/")[0]
        names[task_id].append(name)
        newest[task_id] = max(newest[task_id], int(seconds))
    until_s = (now - timedelta(days=keep_days)).timestamp()
    old = [i for i in names if i != but and newest[i] < until_s and not _is_open(project, i, now)]
    drop(repository, [name for task_id in old for name in names[task_id]])
    return old


def _is_open(project: Project, task_id: str, now: datetime) -> bool:
    """Whether a task is still to be run, or runs; one of which nothing is left is not."""
    try:
        return locate(project, task_id, now).result is None
    except LoopError:
        return False
