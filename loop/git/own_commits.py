"""What a Builder's own commits did besides its work, so that it can be said.

They may hold unfinished work of the person and files that never go into a commit of ours, and they
may leave commits of the person behind.
"""

from __future__ import annotations

from dataclasses import dataclass

from loop.git.command import Repository, shown
from loop.git.diff import ABSENT, commits_between, entries
from loop.git.left_out import LeftOut, reason_to_leave_out

_NAMED = 10


@dataclass(frozen=True, slots=True)
class OwnCommits:
    """The commits that are under HEAD since a run, and what is odd about them."""

    #: oldest first
    made: tuple[str, ...] = ()
    #: paths with unfinished work of the person in them
    swept_up: tuple[str, ...] = ()
    #: new files that would have been left out: secrets, huge ones
    risky: tuple[LeftOut, ...] = ()
    #: the commit before the run, when it is no longer under HEAD
    left_behind: str | None = None

    def warnings(self) -> list[str]:
        """What a person must know of them, one line each."""
        found = []
        if self.swept_up:
            paths = ", ".join(self.swept_up[:_NAMED])
            found.append(f"the Builder's own commits hold your unfinished work on: {paths}")
        if self.risky:
            paths = ", ".join(f"{entry.path} ({entry.why})" for entry in self.risky[:_NAMED])
            found.append(f"the Builder's own commits hold what should stay out of git: {paths}")
        if self.left_behind:
            commit = self.left_behind[:12]
            found.append(
                f"HEAD no longer holds commit {commit} from before the run; "
                f"`git branch NAME {commit}` keeps it"
            )
        return found


def own_commits(
    repository: Repository,
    *,
    before: str,
    head_before: str | None,
    after: str,
    head: str | None,
    left_out: tuple[LeftOut, ...],
    max_file_mb: float,
) -> OwnCommits:
    """The commits of a run; arguments as those of `checkpoint`, `head` is the one after the run.

    Raises:
        GitError: git refused.
    """
    made = tuple(commits_between(repository, head_before, head))
    gone = head_before is not None and commits_between(repository, head, head_before)
    left_behind = head_before if gone else None
    if head is None or not made:
        return OwnCommits(made, left_behind=left_behind)
    base = head_before or repository.empty_tree()
    committed = entries(repository, base, head)
    dirty = entries(repository, base, before)
    changed = entries(repository, before, after, left_out)
    swept_up = [shown(path) for path in committed if path in dirty or path not in changed]
    swept_up += _outside(repository, base, head)
    risky = []
    for path in (path for path, entry in committed.items() if entry.old_mode == ABSENT):
        why = reason_to_leave_out(repository.git.folder / path, max_file_mb * 1_000_000)
        if why is not None:
            risky.append(LeftOut(shown(path), why))
    return OwnCommits(made, tuple(swept_up), tuple(risky), left_behind)


def _outside(repository: Repository, base: str, head: str) -> list[str]:
    """Changed paths beside the project, from the top of a repository that is bigger than it."""
    if not repository.prefix:
        return []
    listed = repository.git.run("diff-tree", "-r", "-z", "--no-renames", "--name-only", base, head)
    paths = listed.decode(errors="surrogateescape").split("\0")
    return [shown(path) for path in paths if path and repository.relative(path) is None]
