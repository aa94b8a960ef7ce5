"""`loop uninstall`: takes exactly our parts out of a project, and nothing else.

Invariants: while a run is alive or a session works the queue, nothing is touched. README.md stays:
it is the project's. `.ai/` stays, with the record of all work, unless it is purged.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from loop.builder.permissions import approved_file, forget
from loop.builder.session import is_alive
from loop.errors import LoopError, NotReady, WrongState
from loop.git.command import GitError, repository_of
from loop.git.snapshot import drop, project_refs
from loop.setup import desktop_entry, plugin
from loop.setup.blocks import HASH, HTML
from loop.setup.project_texts import take_out_block
from loop.setup.step import Step
from loop.store.files import cannot_write
from loop.store.locks import is_locked, locked
from loop.store.paths import Project
from loop.store.project_files import read_owner
from loop.store.scan import ids_in
from loop.store.shift import living


def uninstall(
    project: Project, *, env: Mapping[str, str], purge: bool, platform: str = sys.platform
) -> list[Step]:
    """Takes our parts out. `purge`: also `.ai/` and the snapshots, with which undoing goes too.

    Raises:
        WrongState: a run is alive, or a session works the queue; nothing was changed.
        LoopError: a file can't be understood or written.
    """
    with _no_run(project):
        pass
    # Outside of the lock, since Claude Code is asked; and before what was approved is forgotten.
    plugin_step = plugin.take_out(project, env=env, platform=platform)
    with _no_run(project):
        steps = [*desktop_entry.take_out(project, env=env, platform=platform), plugin_step]
        steps.append(take_out_block(project.root / "CLAUDE.md", HTML))
        steps.append(take_out_block(project.root / ".gitignore", HASH))
        # Without an approval no run can start any more.
        steps.append(_forget(project))
    owner = read_owner(project)
    if owner is not None:
        note = f"process {owner.pid} still serves this project; quit Claude Desktop to end it"
        steps.append(Step("worker", str(project.root), "kept", note))
    steps.append(Step("README.md", str(project.root), "kept", "it is the project's"))
    if purge:
        return [*steps, _drop_snapshots(project), _purge(project)]
    note = (
        "holds the record of all work, and git no longer ignores it; `loop uninstall --purge` "
        "removes it, with the snapshots"
    )
    return [*steps, Step("folders", str(project.ai), "kept", note)]


@contextmanager
def _no_run(project: Project) -> Iterator[None]:
    """Keeps runs from starting for a moment.

    Raises:
        WrongState: one is alive, or a session works the queue.
    """
    if project.ai.is_symlink():
        raise LoopError(f"{project.ai} is a link to {project.ai.resolve()}: remove it by hand")
    if not project.state.is_dir():
        yield  # nothing can start here: a run needs the lock that lies there
        return
    with locked(project.state_lock):
        shift = living(project, is_alive)
        if shift is not None:
            raise WrongState(
                f"a session works the queue in {project.root} (process {shift.pid}): run `loop "
                "stop` and wait for its next stop, or close it, and try again"
            )
        alive = [task for task in ids_in(project.running) if is_locked(project.log(task))]
        if alive:
            raise WrongState(
                f"task {alive[0]} is running in {project.root}: wait for it, or run "
                f"`loop cancel {alive[0]}`, and try again"
            )
        yield


def _forget(project: Project) -> Step:
    target = approved_file(project)
    there = target.exists()
    try:
        forget(project)
    except OSError as error:
        raise cannot_write(target, error) from None
    return Step("approved rules", str(target), "updated" if there else "unchanged",
                "removed" if there else "there are none")  # fmt: skip


def _drop_snapshots(project: Project) -> Step:
    refs = project_refs(project.root)
    try:
        repository = repository_of(project.root)
        if repository is None:
            return Step("snapshots", refs, "unchanged", "no git repository")
        git = repository.git
        names = git.text("for-each-ref", "--format=%(refname)", refs).splitlines()
        drop(repository, names)
    except (NotReady, GitError) as problem:
        return Step("snapshots", refs, "skipped", str(problem))
    if not names:
        return Step("snapshots", refs, "unchanged", "there are none")
    return Step("snapshots", refs, "updated", f"{len(names)} removed")


def _purge(project: Project) -> Step:
    try:
        shutil.rmtree(project.ai)
    except OSError as error:
        raise cannot_write(project.ai, error) from None
    return Step("folders", str(project.ai), "updated", "removed")
