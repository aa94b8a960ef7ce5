"""Snapshots: hidden commits of the files as they are, tracked and new ones.

Made through a temporary index that is a copy of the person's, so that their index, branch, stash
and files stay as they are. `.ai/` and `.claude/worktrees/` are left out; so are secrets, huge files
and nested repositories, which are named. Refs: `refs/loop/<hash of the project>/<id>/<run>/<when>`.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from loop.git.command import Git, GitError, Repository, shown
from loop.git.ignored import came_and_went, ignored_files
from loop.git.left_out import MOST_NEW_FILES, LeftOut, crowded_folders, reason_to_leave_out

_OURS = {
    "GIT_AUTHOR_NAME": "loop",
    "GIT_AUTHOR_EMAIL": "loop@localhost",
    "GIT_COMMITTER_NAME": "loop",
    "GIT_COMMITTER_EMAIL": "loop@localhost",
}
_SUBMODULE = "a repository of its own, with changes"
#: `--replace`: a file may stand where a folder was.
_LEFT_OUT = "left out: "
_IGNORED = "ignored: "
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
    import hashlib  # of which a project without git has no use

    return f"refs/loop/{hashlib.sha256(str(root).encode()).hexdigest()[:12]}"


def take(
    repository: Repository, ref: str, *, max_file_mb: float, since: str | None = None
) -> Taken:
    """Takes a snapshot and keeps it under a ref.

    `since` is the snapshot that it will be compared with: what differs from it only because git
    ignores it now, or did then, counts as left out.

    Raises:
        GitError: git refused.
    """
    head = repository.head()
    tree, left_out = write_tree(repository, max_file_mb=max_file_mb)
    if since is not None:
        ignored: list[str] = [
            name for names in _noted(repository, _IGNORED, since) for name in names
        ]
        left_out += tuple(came_and_went(repository, since, tree, ignored))
    parents = ("-p", head) if head else ()
    git = repository.git
    message = f"snapshot {ref}\n"
    if left_out:
        message += f"\n{_LEFT_OUT}{json.dumps([[e.path, e.why] for e in left_out])}\n"
    if ignored := ignored_files(repository):
        message += f"\n{_IGNORED}{json.dumps(ignored)}\n"
    data = message.encode()
    commit = git.run("commit-tree", tree, *parents, "-F", "-", data=data, env=_OURS)
    taken = Taken(commit.decode().strip(), head, left_out)
    git.run("update-ref", ref, taken.commit)
    return taken


def drop(repository: Repository, names: list[str]) -> None:
    """Removes refs of snapshots, all or none.

    Raises:
        GitError: git refused.
    """
    if names:
        commands = "".join(f"delete {name}\0\0" for name in names)
        repository.git.run("update-ref", "-z", "--stdin", data=commands.encode())


def left_out_of(repository: Repository, *commits: str) -> tuple[LeftOut, ...]:
    """What snapshots left out, as their commits say.

    Raises:
        GitError: git refused, or one of them is no longer there.
    """
    noted = _noted(repository, _LEFT_OUT, *commits)
    return tuple(LeftOut(path, why) for entries in noted for path, why in entries)


def _noted(repository: Repository, label: str, *commits: str) -> list[list[Any]]:
    """The lists that stand under a label in the messages of snapshots."""
    wanted = "".join(f"{commit}\n" for commit in dict.fromkeys(commits))
    said = repository.git.run("cat-file", "--batch", data=wanted.encode())
    found = []
    for line in said.decode(errors="replace").splitlines():
        if line.endswith(" missing") and line.removesuffix(" missing") in commits:
            raise GitError("its snapshots are gone; they are kept for checkpoint.keep_days")
        if line.startswith(label):
            found.append(json.loads(line[len(label) :]))
    return found


def write_tree(repository: Repository, *, max_file_mb: float) -> tuple[str, tuple[LeftOut, ...]]:
    """A tree of the files as they are, and what was left out of it.

    Raises:
        GitError: git refused.
    """
    with temporary_index(repository) as env:
        git = repository.git
        _look_at_all(git, env)
        listed = git.run(
            "ls-files", "-z", "--modified", "--deleted", "--others", "--exclude-standard", env=env
        )
        new = _paths(git.run("ls-files", "-z", "--others", "--exclude-standard", env=env))
        known = _paths(listed) - new
        left_out = _submodules(repository, env)
        apart = {entry.path for entry in left_out}
        behind_link = _behind_link(git.folder)
        gone = sorted(path for path in known if behind_link(path))
        taken = []
        for path in sorted(known.difference(gone)):
            why = _why_not_taken(git.folder / path)
            if why is not None:
                left_out.append(LeftOut(shown(path), why))
            elif shown(path) not in apart:
                taken.append(path)
        for path, why in _sifted(git.folder, new, max_file_mb, left_out):
            if why is None:
                taken.append(path)
            else:
                left_out.append(LeftOut(shown(path), why))
        if gone:  # git itself refuses to look behind a link
            nothing = "0" * len(git.text("hash-object", "--stdin"))
            info = "".join(f"0 {nothing}\t{repository.prefix}{path}\0" for path in gone)
            removals = info.encode(errors="surrogateescape")
            git.run("update-index", "-z", "--index-info", data=removals, env=env)
        data = "".join(f"{path}\0" for path in taken).encode(errors="surrogateescape")
        if data:
            git.run(*_UPDATE, data=data, env=env)
        return git.text("write-tree", env=env), tuple(left_out)


def _look_at_all(git: Git, env: dict[str, str]) -> None:
    """Has git look also at the files that it was told to take as unchanged.

    What a sparse checkout left out is not there and stays as it is.
    """
    listed = git.run("ls-files", "-v", "-z", env=env).decode(errors="surrogateescape")
    tagged = [(record[0], record[2:]) for record in listed.split("\0") if record]
    unlooked = [path for tag, path in tagged if tag.islower()]
    skipped = [path for tag, path in tagged if tag in "Ss" and os.path.lexists(git.folder / path)]
    for option, paths in (("--no-assume-unchanged", unlooked), ("--no-skip-worktree", skipped)):
        data = "".join(f"{path}\0" for path in paths).encode(errors="surrogateescape")
        if data:
            git.run("update-index", option, "-z", "--stdin", data=data, env=env)


def _sifted(
    folder: Path, new: set[str], max_file_mb: float, left_out: list[LeftOut]
) -> Iterator[tuple[str, str | None]]:
    """New files, each with the reason why it stays out; whole folders go to `left_out`."""
    crowded = crowded_folders(new)
    left_out += [LeftOut(shown(f), f"{n} new files") for f, n in crowded.items()]
    too_many = len(new) - sum(crowded.values()) > MOST_NEW_FILES
    for path in sorted(new):
        if path.startswith(tuple(crowded)):
            continue
        why = _why_left_out(folder, path, max_file_mb)
        if too_many and "/" not in path:
            why = why or f"one of {len(new)} new files"
        yield path, why


def _paths(listed: bytes) -> set[str]:
    names = listed.decode(errors="surrogateescape").split("\0")
    return {name for name in names if name and not is_ours(name)}


def _why_left_out(folder: Path, path: str, max_file_mb: float) -> str | None:
    if path.endswith("/"):
        return "a repository of its own"
    return reason_to_leave_out(folder / path, max_file_mb * 1_000_000)


def _behind_link(root: Path) -> Callable[[str], bool]:
    """The test whether a link stands where a folder of the path was."""

    @cache
    def is_link(folder: Path) -> bool:
        return folder != root and (folder.is_symlink() or is_link(folder.parent))

    return lambda path: "/" in path and is_link((root / path).parent)


def _why_not_taken(path: Path) -> str | None:
    """Why git can't hold what is at the path; that nothing is there can be held, too."""
    try:
        mode = path.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None
    if stat.S_ISREG(mode) and not os.access(path, os.R_OK):
        return "can't be read"
    known = stat.S_ISREG(mode) or stat.S_ISLNK(mode) or stat.S_ISDIR(mode)
    return None if known else "neither a file nor a link"


def _submodules(repository: Repository, env: dict[str, str]) -> list[LeftOut]:
    """Submodules and other repositories under git's eye that have changes of their own."""
    if not _may_have_submodules(repository):
        return []
    arguments = ("diff-files", "--raw", "-z", "--ignore-submodules=none")
    raw = repository.git.run(*arguments, env=env).decode(errors="surrogateescape")
    fields = raw.split("\0")
    found = []
    for head, path in zip(fields[::2], fields[1::2], strict=False):
        relative = repository.relative(path)
        if head.startswith(":160000 160000") and relative is not None:
            found.append(LeftOut(shown(relative), _SUBMODULE))
    return found


def _may_have_submodules(repository: Repository) -> bool:
    """Whether the index may name one: their mode stands in it in four bytes."""
    for index in (repository.git_dir / "index", *repository.git_dir.glob("sharedindex.*")):
        with suppress(FileNotFoundError):
            if b"\0\0\xe0\0" in index.read_bytes():
                return True
    return False


def is_ours(path: str) -> bool:
    """Whether a path of the project is none of the person's work."""
    return path.startswith((".ai/", ".claude/worktrees/"))


@contextmanager
def temporary_index(repository: Repository, *, copy: bool = True) -> Iterator[dict[str, str]]:
    """The environment for git to work on an index of its own: a copy of the person's, or none."""
    import tempfile  # which only those pay for who take one

    folder = Path(tempfile.mkdtemp(prefix="loop-index-"))
    try:
        index = folder / "index"
        if copy:
            with suppress(FileNotFoundError):
                shutil.copy2(repository.git_dir / "index", index)
            for shared in repository.git_dir.glob("sharedindex.*"):  # a split index needs it
                shutil.copy2(shared, folder / shared.name)
        # The other part of a split index would stay among the person's.
        yield {"GIT_INDEX_FILE": os.fspath(index)} | settings_in(splitIndex="false")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def settings_in(**settings: str) -> dict[str, str]:
    """Variables that give git settings of the section `core`, beside those it is given already."""
    first = int(os.environ.get("GIT_CONFIG_COUNT") or 0)
    env = {"GIT_CONFIG_COUNT": str(first + len(settings))}
    for number, (name, value) in enumerate(settings.items(), first):
        env |= {f"GIT_CONFIG_KEY_{number}": f"core.{name}", f"GIT_CONFIG_VALUE_{number}": value}
    return env
