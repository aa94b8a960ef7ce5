"""Undoing a task: what only this task changed is taken back, and the undo can be undone.

A path goes back to what it was before the task's first run only if it still is what the last run
left; others have been overtaken, are listed, and are taken back only by force. The run slot is held
meanwhile, so nothing runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

import msgspec

from loop.core.event import Actor, Undone
from loop.core.result import Result, Undo, result_dict
from loop.core.task import Task, title_of
from loop.errors import NotFound, WrongState
from loop.git.checkpoint import checkpoint
from loop.git.command import Repository, repository_of
from loop.git.snapshot import ref_of, take
from loop.git.undo import Step, changed_over, overtaken, put_back
from loop.store.journal import transition
from loop.store.locks import FileLock
from loop.store.paths import Project
from loop.store.project_files import load_config
from loop.store.scan import ids_in, locate


@dataclass(frozen=True, slots=True)
class Undoing:
    """What an undo did. With nothing taken back, nothing was changed."""

    task_id: str
    taken_back: list[str]
    #: changed by others since; left as they are, unless forced
    overtaken: list[str]
    commit: str | None
    #: it took back an undo
    redone: bool


def undo(project: Project, task_id: str, actor: Actor, now: datetime, *, force: bool) -> Undoing:
    """Takes back what a task changed; of a task that is undone, takes back the undo.

    Raises:
        NotFound: no such task, or no snapshots of it.
        WrongState: it is not settled, or something runs.
        GitError: git refused.
    """
    repository = repository_of(project.root)
    if repository is None:
        raise NotFound(f"{project.root} is not a git repository, so nothing can be undone")
    with _slot(project):
        located = locate(project, task_id, now)
        if located.result is None:
            raise WrongState(f"task {located.task.id} is {located.state}: cancel it first")
        steps, redone = _steps(located.task, located.result)
        return _carry_out(
            project, repository, located.task, located.result, steps, actor, now,
            force=force, redone=redone,
        )  # fmt: skip


def _steps(task: Task, result: Result) -> tuple[list[Step], bool]:
    """The work to take back, and whether that is an undo."""
    last_run = task.runs[-1].number if task.runs else 0
    undos = [u for u in result.undos if u.run == last_run]
    if len(undos) % 2:
        return [Step(undos[-1].before, undos[-1].after)], True
    steps = [Step(run.before, run.after) for run in task.runs if run.before and run.after]
    if not steps:
        raise NotFound(f"task {task.id} has no snapshots, so nothing can be undone")
    return steps, False


@contextmanager
def _slot(project: Project) -> Iterator[None]:
    """The run slot: no worker claims while it is held."""
    lock = FileLock(project.slot_lock)
    if not lock.try_acquire():
        raise WrongState("another undo is under way: try again")
    try:
        with transition(project):  # a claim that is being made is over now
            running = ids_in(project.running)
        if running:
            raise WrongState(f"task {running[0]} is running: wait for its end, or cancel it")
        yield
    finally:
        lock.release()


def _carry_out(
    project: Project,
    repository: Repository,
    task: Task,
    result: Result,
    steps: list[Step],
    actor: Actor,
    now: datetime,
    *,
    force: bool,
    redone: bool,
) -> Undoing:
    config = load_config(project)
    number = len(result.undos) + 1
    last_run = task.runs[-1].number if task.runs else 0
    max_file_mb = config.checkpoint.max_file_mb

    def ref(when: str) -> str:
        return ref_of(project.root, task.id, last_run, f"undo-{number}-{when}")

    before = take(repository, ref("before"), max_file_mb=max_file_mb)
    changed = changed_over(repository, steps)
    others = overtaken(repository, changed, before.commit)
    taken = [entry for path, entry in changed.items() if force or path not in others]
    if not taken:
        return Undoing(task.id, [], others, None, redone)
    put_back(repository, taken)
    after = take(repository, ref("after"), max_file_mb=max_file_mb)
    what = "Take back the undo of" if redone else "Undo"
    made = checkpoint(
        repository,
        before=before.commit,
        head_before=before.head,
        after=after.commit,
        left_out=after.left_out,
        mode=config.checkpoint.mode,
        ref=ref("checkpoint"),
        named=(),
        title=f"{what} task {task.id}: {title_of(task)}",
        now=now,
    )
    paths = sorted(entry.path for entry in taken)
    record = Undo(at=now, run=last_run, before=before.commit, after=after.commit, paths=paths)
    with transition(project) as t:
        current = locate(project, task.id, now).result or result
        marked = msgspec.structs.replace(current, undos=[*current.undos, record])
        t.put(project.task_file(project.completed, task.id), result_dict(marked))
        t.append(Undone(ts=now, actor=actor, task_id=task.id, run=last_run, paths=paths))
    return Undoing(task.id, paths, others, made.commit, redone)
