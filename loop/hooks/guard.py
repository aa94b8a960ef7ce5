"""The guard: a run that changed files doesn't end before the README says so.

Owns: the judgement of one ending, its reason in words, and `.ai/running/0042.guard`,
`{"run": uuid, "refusals": n, "gave_up": bool}` and, once, `"trouble": "..."`. Whether the guard has
a say at all (settings, questions, kind of hook) is entry.py's.

An ending is refused when files of the project changed since the snapshot before the run, committed
or not, and the section `## Recent Changes` of README.md has no dated entry that it did not have
then. An entry that was rewritten counts as new. Changes in `.ai/` and `.claude/`, and in that
section itself, don't need one; any other change in README.md does, like one in every other file.

Invariants: only a positive finding refuses, at most `MAX_REFUSALS` times a run, each of them on
record before it is said. A README that can't be edited or read, no git, no snapshot: passes.
"""

from __future__ import annotations

import json
import os
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from loop.errors import Busy, LoopError
from loop.git.command import Git, GitError, Repository, repository_of
from loop.git.diff import entries
from loop.git.snapshot import write_tree
from loop.hooks.readme import Readme, read_readme

if os.name == "nt":
    import msvcrt

    def _try_lock(descriptor: int) -> bool:
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
        except OSError:
            return False
        return True

else:
    import fcntl

    def _try_lock(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


MAX_REFUSALS = 2
#: Seconds for one call of git, and for all calls of one judgement: Claude Code kills us at 20.
_ONE_GIT_S = 8.0
_ALL_GIT_S = 12.0
_LOCK_S = 1.0
_README = "README.md"
_MAX_README_BYTES = 5_000_000
_SHOWN_FILES = 5


@dataclass(frozen=True, slots=True)
class Place:
    """Where a run's guard keeps its record."""

    root: Path
    #: name of the task's files, such as `0042`
    stem: str
    #: uuid of the run
    run: str

    @property
    def record(self) -> Path:
        """How often this run was refused."""
        return self.root / ".ai" / "running" / f"{self.stem}.guard"

    @property
    def lock(self) -> Path:
        """Held while the record is read and written; hooks of one event run at once."""
        return self.root / ".ai" / "state" / "guard.lock"


def refusal(
    place: Place, before: str, *, max_file_mb: float, all_git_s: float = _ALL_GIT_S
) -> str | None:
    """Why the run may not end yet, in words for the Builder; None lets it pass.

    `before` is the commit of the snapshot before the run. `all_git_s` bounds all calls of git.

    Raises:
        LoopError, OSError: git, the lock or the record gave trouble.
    """
    reason = _finding(place.root, before, max_file_mb, all_git_s)
    return reason if reason is not None and count_refusal(place) else None


def _finding(root: Path, before: str, max_file_mb: float, all_git_s: float) -> str | None:
    content = _editable_readme(root)
    if content is None:
        return None
    repository = _repository(root, all_git_s)
    path = _path_in(repository, root / _README)
    if path is None:
        return None
    now, then = read_readme(content), read_readme(_content_then(repository.git, before, path))
    if now.entries - then.entries:
        return None
    tree, left_out = write_tree(repository, max_file_mb=max_file_mb)
    needless = {repository.relative(path)} if now.rest == then.rest else set()
    changed = [
        name
        for name in entries(repository, before, tree, left_out)
        if name not in needless and not name.startswith(".claude/")
    ]
    return _reason(changed, now) if changed else None


@dataclass(frozen=True, slots=True)
class _Bounded(Git):
    """Git whose calls are all through at one moment of the monotonic clock, or just after."""

    until: float = 0.0

    def run(
        self, *arguments: str, data: bytes = b"", env: Mapping[str, str] | None = None
    ) -> bytes:
        left_s = max(0.1, min(self.timeout_s, round(self.until - time.monotonic(), 1)))
        return Git(self.folder, self.executable, left_s).run(*arguments, data=data, env=env)


def _repository(root: Path, all_git_s: float) -> Repository:
    until = time.monotonic() + all_git_s
    repository = repository_of(root, timeout_s=min(_ONE_GIT_S, all_git_s))
    if repository is None:
        raise GitError(f"git no longer finds the repository of {root}, or is too slow")
    git = repository.git
    return replace(repository, git=_Bounded(git.folder, git.executable, git.timeout_s, until))


def _editable_readme(root: Path) -> bytes | None:
    """The content of README.md; None when there is none that the Builder could edit."""
    path = root / _README
    try:
        # By listing: where case doesn't count, git knows another spelling as another file.
        if all(other.name != _README for other in root.iterdir()):
            return None
        status = path.stat()
        if not stat.S_ISREG(status.st_mode) or status.st_size > _MAX_README_BYTES:
            return None
        return path.read_bytes() if os.access(path, os.W_OK) else None
    except OSError:
        return None


def _path_in(repository: Repository, readme: Path) -> str | None:
    """The README as git names it; None when it is a link that leads out of the repository."""
    if not readme.is_symlink():
        return repository.prefix + readme.name
    real, top = readme.resolve(), repository.top
    return real.relative_to(top).as_posix() if real.is_relative_to(top) else None


def _content_then(git: Git, before: str, path: str) -> bytes:
    """A file as it was in a commit; empty when it wasn't there."""
    answer = git.run("cat-file", "--batch", data=f"{before}:{path}\n".encode())
    head, _, body = answer.partition(b"\n")
    words = head.split(b" ")
    return body[: int(words[2])] if words[1:2] == [b"blob"] else b""


def _reason(changed: list[str], readme: Readme) -> str:
    shown = ", ".join(_shown(name) for name in changed[:_SHOWN_FILES])
    more = len(changed) - _SHOWN_FILES
    entry = f"`- {time.strftime('%Y-%m-%d')}: ...`"
    where = (
        f"Add {entry} at the top of the section `## Recent Changes` in README.md"
        if readme.has_section
        else f"It has no such section: add `## Recent Changes` at its end, with {entry} in it"
    )
    return (
        "Files changed in this run, but README.md has no new dated entry under "
        f"`## Recent Changes` yet. Changed: {shown}{f' and {more} more' if more > 0 else ''}. "
        f"{where}. Write plain, user-facing words that a non-technical person can follow: what it "
        "does and why it matters, not the task's text and no names of files or functions. "
        "Leave the other sections and the older entries as they are."
    )


def _shown(name: str) -> str:
    words = " ".join(name.encode(errors="surrogateescape").decode(errors="replace").split())
    return words if len(words) <= 120 else f"...{words[-117:]}"


def count_refusal(place: Place) -> bool:
    """Puts one more refusal on record; False after the last one: that the guard gave up is, then.

    Raises:
        LoopError, OSError: it can't be counted, so it must not be said.
    """
    with _record(place) as record:
        allowed = bool(record["refusals"] < MAX_REFUSALS)
        record.update({"refusals": record["refusals"] + 1} if allowed else {"gave_up": True})
    return allowed


def note_trouble(place: Place, words: str) -> None:
    """Puts the first trouble of a run on record, as well as that can be done."""
    with suppress(LoopError, OSError), _record(place) as record:
        record.setdefault("trouble", words)


@contextmanager
def _record(place: Place) -> Iterator[dict[str, Any]]:
    """The run's record, to be changed; written back whole under the lock."""
    with locked(place.lock):
        record = _read_record(place)
        yield record
        temporary = place.record.with_name(f".{place.record.name}.{os.getpid()}.tmp")
        try:
            temporary.write_text(f"{json.dumps(record)}\n", encoding="utf-8")
            temporary.replace(place.record)
        finally:
            temporary.unlink(missing_ok=True)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Holds the lock on a file for a block of code; it is free at the latest when we die.

    Raises:
        Busy: another process keeps it.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    until = time.monotonic() + _LOCK_S
    try:
        while not _try_lock(descriptor):
            if time.monotonic() > until:
                raise Busy(f"{path} has been locked for {_LOCK_S:g} s by another process")
            time.sleep(0.002)
        yield
    finally:
        os.close(descriptor)


def _read_record(place: Place) -> dict[str, Any]:
    try:
        record = json.loads(place.record.read_bytes())
    except (FileNotFoundError, ValueError):
        record = {}
    fresh = {"run": place.run, "refusals": 0, "gave_up": False}
    if not isinstance(record, dict) or record.get("run") != place.run:
        return fresh
    return fresh | record if isinstance(record.get("refusals"), int) else fresh
