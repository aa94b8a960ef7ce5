"""What earlier runs of a task left in the files."""

from __future__ import annotations

from collections.abc import Iterable

from loop.core.task import Task
from loop.git.command import GitError, Repository, shown
from loop.git.diff import entries

_RUNS = 5


def left_behind(repository: Repository, task: Task) -> tuple[list[str], list[str]]:
    """The paths that the last ended runs of a task changed, and those of them in no commit.

    By their snapshots, and the one before the run that now begins; where one is gone, its run
    counts as one that changed nothing.
    """
    *earlier, current = task.runs
    changed: dict[str, None] = {}
    try:
        for run in earlier[-_RUNS:]:
            if run.before and run.after:
                changed |= dict.fromkeys(entries(repository, run.before, run.after))
        head = repository.head()
        if not changed or current.before is None or head is None:
            return _shown(changed), []
        open_paths = entries(repository, head, current.before)
    except GitError:
        return _shown(changed), []
    return _shown(changed), _shown(path for path in changed if path in open_paths)


def _shown(paths: Iterable[str]) -> list[str]:
    return sorted(shown(path) for path in paths)
