"""What is kept and found out around a run: the files as they are, and how the checks go on them.

Heavy parts are imported where they are needed: the Stop hook of a session comes along here, too.
"""

from __future__ import annotations

from collections.abc import Mapping

from loop.core.config import Config
from loop.core.task import Task
from loop.core.transition import end_run
from loop.errors import LoopError
from loop.git.command import repository_of
from loop.store import queue
from loop.store.paths import Project
from loop.store.run_files import cancel_reason

_NO_REPOSITORY = "not a git repository"


def left_words(project: Project, task: Task) -> str:
    """What earlier runs of the task left in the files; empty when nothing."""
    repository = repository_of(project.root) if len(task.runs) > 1 else None
    if repository is None:
        return ""
    from loop.actions.left_behind import left_behind
    from loop.core.last_attempt import what_it_left

    return what_it_left(*left_behind(repository, task))


def snapshot_after(project: Project, task: Task, config: Config) -> str | None:
    """Keeps the files as its last run has left them by now; None where that can't be done."""
    if task.runs[-1].before is None:
        return None
    from loop.git.snapshot import ref_of, take

    try:
        repository = repository_of(project.root)
        if repository is None:
            return None
        ref = ref_of(project.root, task.id, task.runs[-1].number, "after")
        return take(repository, ref, max_file_mb=config.checkpoint.max_file_mb).commit
    except LoopError:
        return None


def with_baseline(project: Project, task: Task, config: Config, env: Mapping[str, str]) -> Task:
    """The task once it is known how the project's checks go before the run.

    What the checks themselves write is not the run's work, so the snapshot is taken anew after
    them; only then is their outcome noted, so that a crash in between repeats both.
    """
    from loop.actions.verification import commands_of, make_baseline, remember
    from loop.builder.command import verification_environment

    if not commands_of(config):
        return task
    repository = repository_of(project.root) if task.runs[-1].before else None
    checks = verification_environment(env, project, task)

    def unwanted() -> bool:
        return cancel_reason(project, task.id) is not None

    passed = make_baseline(project, repository, task, config, checks, unwanted)
    if not passed:
        return task
    first = task.runs[-1].before
    if repository is not None:
        task = with_snapshot(project, task, config.checkpoint.max_file_mb, anew=True)
    remember(project, repository, task, passed, first, task.runs[-1].before)
    return task


def unseen(project: Project) -> str | None:
    """Why no snapshot can be taken at all; None when there may be a repository."""
    places = (project.root, *project.root.parents)
    return None if any((place / ".git").exists() for place in places) else _NO_REPOSITORY


def with_snapshot(project: Project, task: Task, max_file_mb: float, *, anew: bool = False) -> Task:
    """The task once the files as they are before its run are kept; bears repetition."""
    run = task.runs[-1]
    if not anew and (run.before is not None or run.no_snapshot is not None):
        return task
    try:
        repository = repository_of(project.root)
        if repository is None:
            known = end_run(task, no_snapshot=_NO_REPOSITORY)
        else:
            from loop.git.snapshot import ref_of, take

            ref = ref_of(project.root, task.id, run.number, "before")
            taken = take(repository, ref, max_file_mb=max_file_mb)
            known = end_run(task, before=taken.commit, head=taken.head)
    except LoopError as error:
        known = end_run(task, no_snapshot=str(error))
    queue.update_running(project, known)
    return known
