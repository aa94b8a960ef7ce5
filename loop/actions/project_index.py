"""Making the project index anew, when the files are no longer those it was made of."""

from __future__ import annotations

from datetime import datetime, timedelta

from loop.core.project_index import is_of_tree, project_index
from loop.core.task import Task
from loop.errors import LoopError
from loop.git.command import repository_of
from loop.git.files import listed_files
from loop.store.paths import Project
from loop.store.project_index import MAX_FILES, index_file, index_lines, walk, write_index

#: Where nobody can tell whether the files changed, a page that is younger is left as it is.
FRESH = timedelta(minutes=10)
_HEAD_LINES = 5


def refresh_index(
    project: Project, now: datetime, task: Task | None = None, *, max_age: timedelta = FRESH
) -> bool:
    """Writes `.ai/project_index.md` by git's list of files, else by a walk; whether it did.

    `task` is one that is about to run: the snapshot before its run says whether the files are
    still those of the page. Bounded in time (15 s at worst), files and size. Not for a moment when
    a lock is held.

    Raises:
        LoopError: the page can't be written.
    """
    tree = _tree(project, task)
    if tree is not None:
        if is_of_tree("\n".join(index_lines(project, _HEAD_LINES)), tree):
            return False
    elif _is_young(project, now, max_age):
        return False
    paths, whole = listed_files(project.root, MAX_FILES) or walk(project.root)
    write_index(project, project_index(project.name, paths, now, whole=whole, tree=tree))
    return True


def _tree(project: Project, task: Task | None) -> str | None:
    """Git's name of the files as they are before a run; None when there is no snapshot of them."""
    before = task.runs[-1].before if task and task.runs else None
    try:
        repository = repository_of(project.root) if before else None
    except LoopError:
        return None
    return repository.git.maybe("rev-parse", f"{before}^{{tree}}") if repository else None


def _is_young(project: Project, now: datetime, max_age: timedelta) -> bool:
    try:
        age_s = now.timestamp() - index_file(project).stat().st_mtime
    except FileNotFoundError:
        return False
    return 0 <= age_s < max_age.total_seconds()
