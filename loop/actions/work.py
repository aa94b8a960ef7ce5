"""What a run did to the files: seen through the snapshots around it, and kept in commits.

The parts of git are imported where there is a repository: the Stop hook of a session comes along
here, too.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from loop.core.config import Config
from loop.core.task import Task, title_of
from loop.errors import LoopError
from loop.git.command import GitError, Repository
from loop.store.paths import Project

if TYPE_CHECKING:
    from loop.git.checkpoint import Checkpoint
    from loop.git.diff import Lines
    from loop.git.left_out import LeftOut
    from loop.git.own_commits import OwnCommits
    from loop.git.snapshot import Taken
    from loop.git.undo import Step

_NAMED = 10


@dataclass(frozen=True, slots=True)
class Seen:
    """What can be seen of the run's work."""

    #: of this run
    lines: list[Lines] = field(default_factory=list)
    #: of all runs of the task together
    whole: list[Lines] = field(default_factory=list)
    taken: Taken | None = None
    #: of the snapshots before and after
    left_out: tuple[LeftOut, ...] = ()
    #: why nobody can tell what changed; None when that is known
    unseen: str | None = None


def what_changed(
    project: Project, repository: Repository | None, task: Task, config: Config
) -> Seen:
    """Takes the snapshot after the last run, and compares."""
    run = task.runs[-1]
    if repository is None or run.before is None:
        return Seen(unseen=run.no_snapshot or "not a git repository")
    from loop.git.diff import line_counts
    from loop.git.snapshot import left_out_of, ref_of, take
    from loop.git.undo import Step

    try:
        ref = ref_of(project.root, task.id, run.number, "after")
        max_file_mb = config.checkpoint.max_file_mb
        taken = take(repository, ref, max_file_mb=max_file_mb, since=run.before)
        left_out = (*taken.left_out, *left_out_of(repository, run.before))
        lines = line_counts(repository, run.before, taken.commit, left_out)
        steps = [Step(r.before, r.after) for r in task.runs[:-1] if r.before and r.after]
        whole = _over(repository, [*steps, Step(run.before, taken.commit)]) if steps else lines
        return Seen(lines, whole, taken, left_out)
    except LoopError as error:
        return Seen(unseen=str(error))


def _over(repository: Repository, steps: list[Step]) -> list[Lines]:
    from loop.git.undo import changed_over, lines_of

    counted = lines_of(repository, changed_over(repository, steps).values())
    return [counted[path] for path in sorted(counted)]


@dataclass(frozen=True, slots=True)
class Work:
    """What the run did to the files."""

    #: of all runs of the task together
    lines: list[Lines]
    taken: Taken | None
    #: None when none was to be made
    checkpoint: Checkpoint | None = None
    #: commits that the Builder made itself; None when there is nothing to tell of them
    own: OwnCommits | None = None

    @property
    def commits(self) -> list[str]:
        """The commits of the run, oldest first."""
        own = self.own.made if self.own else ()
        return [*own, *filter(None, [self.checkpoint.commit if self.checkpoint else None])]

    @property
    def commit(self) -> str | None:
        """The newest of them; None when there is none."""
        return self.commits[-1] if self.commits else None

    def warnings(self) -> list[str]:
        """What a person must know of it, one line each."""
        found = _warnings(self.checkpoint) if self.checkpoint else []
        found += self.own.warnings() if self.own else []
        left_out = self.taken.left_out if self.taken else ()
        if left_out:
            named = ", ".join(f"{entry.path} ({entry.why})" for entry in left_out[:_NAMED])
            more = f" and {len(left_out) - _NAMED} more" if len(left_out) > _NAMED else ""
            found.append(f"left out of snapshot and commit: {named}{more}")
        return found


def _warnings(made: Checkpoint) -> list[str]:
    found = []
    if made.skipped:
        found.append(f"no checkpoint was made: {made.skipped}")
    if made.kept_out:
        paths = ", ".join(made.kept_out[:_NAMED])
        found.append(f"not committed, since they had changes before the run: {paths}")
    if made.mixed:
        paths = ", ".join(made.mixed[:_NAMED])
        found.append(f"committed whole, with changes from before the run in them: {paths}")
    return found


def keep(
    project: Project,
    repository: Repository | None,
    task: Task,
    config: Config,
    seen: Seen,
    named: tuple[str, ...],
    now: datetime,
    *,
    half_done: bool = False,
) -> Work:
    """Makes the checkpoint of what was seen; `named` are paths that the Builder says are its.

    What a session left `half_done` may hold a person's own work: it is named, not committed.
    """
    run, taken = task.runs[-1], seen.taken
    if repository is None or taken is None or run.before is None:
        return Work(seen.whole, taken)
    from loop.git.checkpoint import checkpoint
    from loop.git.diff import commits_between
    from loop.git.own_commits import OwnCommits, own_commits
    from loop.git.snapshot import ref_of

    own = OwnCommits(tuple(commits_between(repository, run.head, taken.head)))
    with suppress(GitError):
        own = own_commits(
            repository,
            before=run.before,
            head_before=run.head,
            after=taken.commit,
            head=taken.head,
            left_out=seen.left_out,
            max_file_mb=config.checkpoint.max_file_mb,
        )
    made = checkpoint(
        repository,
        before=run.before,
        head_before=run.head,
        after=taken.commit,
        left_out=seen.left_out,
        mode="off" if half_done else config.checkpoint.mode,
        ref=ref_of(project.root, task.id, run.number, "checkpoint"),
        named=named,
        title=f"Task {task.id}: {title_of(task)}",
        now=now,
    )
    return Work(seen.whole, taken, made, own)
