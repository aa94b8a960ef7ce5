"""Snapshots: hidden commits of the files as they are, tracked and new ones.

Made through a temporary index that is a copy of the person's, so that their index, branch, stash
and files stay as they are. `.ai/` and `.claude/worktrees/` are left out; so are secrets, huge files
and nested repositories, which are named. Refs: `refs/loop/<hash of the project>/<id>/<run>/<when>`.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from loop.git.command import Repository, shown
from loop.git.left_out import LeftOut, crowded_folders, reason_to_leave_out

_OURS = {
    "GIT_AUTHOR_NAME": "loop",
    "GIT_AUTHOR_EMAIL": "loop@localhost",
    "GIT_COMMITTER_NAME": "loop",
    "GIT_COMMITTER_EMAIL": "loop@localhost",
}
#: `--replace`: a file may stand where a folder was.
_UPDATE = ("update-index", "-z", "--add", "--remove", "--replace", "--stdin")


@dataclass(frozen=True, slots=True)
class Taken:
    """A snapshot that was taken."""

    commit: str
    #: HEAD at that moment; None without a commit
    head: str | None
    left_out: tuple[LeftOut, ...]


def ref_of(root: Path, task_id: str, run: int, when: str) -> str:
    """The name of a snapshot's ref; `when` is `before` or `after`."""
    return f"{project_refs(root)}/{task_id}/{run}/{when}"


def project_refs(root: Path) -> str:
    """The folder of refs of a project; repositories are shared by their work trees."""
    return f"refs/loop/{hashlib.sha256(str(root).encode()).hexdigest()[:12]}"


def take(repository: Repository, ref: str, *, max_file_mb: float) -> Taken:
    """Takes a snapshot and keeps it under a ref.

    Raises:
        GitError: git refused.
    """
    head = repository.head()
    tree, left_out = write_tree(repository, max_file_mb=max_file_mb)
    parents = ("-p", head) if head else ()
    git = repository.git
    commit = git.text("commit-tree", tree, *parents, "-m", f"snapshot {ref}", env=_OURS)
    git.run("update-ref", ref, commit)
    return Taken(commit, head, left_out)


def write_tree(repository: Repository, *, max_file_mb: float) -> tuple[str, tuple[LeftOut, ...]]:
    """A tree of the files as they are, and what was left out of it.

    Raises:
        GitError: git refused.
    """
    with temporary_index(repository) as env:
        git = repository.git
        listed = git.run(
            "ls-files", "-z", "--modified", "--deleted", "--others", "--exclude-standard", env=env
        )
        new = _paths(git.run("ls-files", "-z", "--others", "--exclude-standard", env=env))
        crowded = crowded_folders(new)
        left_out = [LeftOut(shown(f), f"{n} new files") for f, n in crowded.items()]
        taken = []
        for path in sorted(_paths(listed)):
            if path in new:
                if path.startswith(tuple(crowded)):
                    continue
                why = _why_left_out(git.folder, path, max_file_mb)
                if why is not None:
                    left_out.append(LeftOut(shown(path), why))
                    continue
            taken.append(path)
        data = "".join(f"{path}\0" for path in taken).encode(errors="surrogateescape")
        if data:
            git.run(*_UPDATE, data=data, env=env)
        return git.text("write-tree", env=env), tuple(left_out)


def _paths(listed: bytes) -> set[str]:
    names = listed.decode(errors="surrogateescape").split("\0")
    return {name for name in names if name and not is_ours(name)}


def _why_left_out(folder: Path, path: str, max_file_mb: float) -> str | None:
    if path.endswith("/"):
        return "a repository of its own"
    return reason_to_leave_out(folder / path, max_file_mb * 1_000_000)


def is_ours(path: str) -> bool:
    """Whether a path of the project is none of the person's work."""
    return path.startswith((".ai/", ".claude/worktrees/"))


@contextmanager
def temporary_index(repository: Repository, *, copy: bool = True) -> Iterator[dict[str, str]]:
    """The environment for git to work on an index of its own: a copy of the person's, or none."""
    folder = Path(tempfile.mkdtemp(prefix="loop-index-"))
    try:
        index = folder / "index"
        if copy:
            with suppress(FileNotFoundError):
                shutil.copy2(repository.git_dir / "index", index)
            for shared in repository.git_dir.glob("sharedindex.*"):  # a split index needs it
                shutil.copy2(shared, folder / shared.name)
        yield {"GIT_INDEX_FILE": os.fspath(index)}
    finally:
        shutil.rmtree(folder, ignore_errors=True)
