"""Undoing a task: what only this task changed is taken back, and the undo can be undone.

A path goes back to what it was before the task's first run only if it still is what the last run
left; others have been overtaken, are listed, and are taken back only by force. What no snapshot
holds (secrets, huge files) is never overwritten. The run slot is held meanwhile, so nothing runs.

    step                       crash after it: what the same call does then
    1 snapshot before          uses that one, so that the undo can be undone as a whole
    2 paths put back           finds them as they were before the task: counts them as taken back
    3 snapshot after, commit   both again
    4 record and timeline      it is done: the next call takes back the undo
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime

import msgspec

from loop.core.event import Actor, Undone
from loop.core.result import Result, Undo, result_dict
from loop.core.task import Task, title_of
from loop.core.task_id import children_of
from loop.errors import Busy, NotFound, WrongState
from loop.git.checkpoint import checkpoint
from loop.git.command import Repository, repository_of, shown
from loop.git.restore import put_back
from loop.git.snapshot import ref_of, take
from loop.git.undo import Change, Step, changed_over, other_in, sort_out, unfinished
from loop.store.journal import transition
from loop.store.locks import locked
from loop.store.paths import Project
from loop.store.project_files import load_config
from loop.store.scan import ids_in, locate

#: Seconds to wait for the run slot: a worker that only looks at it holds it for a moment.
_SLOT_S = 2.0


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
    #: why no commit was made of it though there was something to commit
    skipped: str | None = None


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
        work = _work_of(repository, located.task, located.result)
        return _carry_out(
            project, repository, located.task, located.result, work, actor, now, force=force
        )


@dataclass(frozen=True, slots=True)
class _Work:
    """What is to be taken back; `redone` when that is an undo."""

    changed: list[Change]
    redone: bool


def _work_of(repository: Repository, task: Task, result: Result) -> _Work:
    last_run = task.runs[-1].number if task.runs else 0
    undos = [u for u in result.undos if u.run == last_run]
    last = _changed_by(repository, undos[-1]) if undos else {}
    if len(undos) % 2:
        return _Work(list(last.values()), True)
    steps = [Step(run.before, run.after) for run in task.runs if run.before and run.after]
    if not steps and task.children:
        last_first = ", ".join(children_of(task.id, task.children)[:-11:-1])
        raise NotFound(
            f"task {task.id} did nothing itself; undo its subtasks, the last first: {last_first}"
        )
    if not steps:
        raise NotFound(f"task {task.id} has no snapshots, so nothing can be undone")
    # Where an undo was taken back by force, what stood there before that comes back.
    return _Work(list((changed_over(repository, steps) | last).values()), False)


def _changed_by(repository: Repository, done: Undo) -> dict[str, Change]:
    changed = changed_over(repository, [Step(done.before, done.after)])
    paths = set(done.paths)
    return {path: change for path, change in changed.items() if shown(path) in paths}


@contextmanager
def _slot(project: Project) -> Iterator[None]:
    """The run slot: no worker claims while it is held."""
    with ExitStack() as held:
        try:
            held.enter_context(locked(project.slot_lock, within_s=_SLOT_S))
        except Busy:
            raise WrongState("another undo is under way: try again") from None
        with transition(project):  # a claim that is being made is over now
            running = ids_in(project.running)
        if running:
            raise WrongState(f"task {running[0]} is running: wait for its end, or cancel_task it")
        yield


def _carry_out(
    project: Project,
    repository: Repository,
    task: Task,
    result: Result,
    work: _Work,
    actor: Actor,
    now: datetime,
    *,
    force: bool,
) -> Undoing:
    config = load_config(project)
    number = len(result.undos) + 1
    last_run = task.runs[-1].number if task.runs else 0
    max_file_mb = config.checkpoint.max_file_mb

    def ref(when: str) -> str:
        return ref_of(project.root, task.id, last_run, f"undo-{number}-{when}")

    # One that is there already is of an undo that a crash broke off.
    begun = repository.git.maybe("rev-parse", "--verify", "--quiet", ref("before"))
    here = take(repository, ref("again" if begun else "before"), max_file_mb=max_file_mb)
    before = begun or here.commit
    sorted_ = sort_out(repository, work.changed, here.commit, here.left_out)
    taken = sorted_.free + (sorted_.overtaken if force else [])
    others = [shown(c.path) for c in (*sorted_.stuck, *([] if force else sorted_.overtaken))]
    earlier = other_in(repository, begun, sorted_.done) if begun else []
    if not taken and not earlier:
        repository.git.run("update-ref", "-d", ref("before"))
        return Undoing(task.id, [], others, None, work.redone)
    put_back(repository, taken)
    after = take(repository, ref("after"), max_file_mb=max_file_mb, since=before)
    what = "Take back the undo of" if work.redone else "Undo"
    made = checkpoint(
        repository,
        before=before,
        head_before=here.head,
        after=after.commit,
        left_out=(*here.left_out, *after.left_out),
        mode=config.checkpoint.mode,
        ref=ref("checkpoint"),
        named=(),
        unfinished=unfinished(repository, (*taken, *earlier)),
        title=f"{what} task {task.id}: {title_of(task)}",
        now=now,
    )
    paths = sorted(shown(change.path) for change in (*taken, *earlier))
    record = Undo(at=now, run=last_run, before=before, after=after.commit, paths=paths)
    with transition(project) as t:
        current = locate(project, task.id, now).result or result
        marked = msgspec.structs.replace(current, undos=[*current.undos, record])
        t.put(project.task_file(project.completed, task.id), result_dict(marked))
        t.append(Undone(ts=now, actor=actor, task_id=task.id, run=last_run, paths=paths))
    return Undoing(task.id, paths, others, made.commit, work.redone, made.skipped)
