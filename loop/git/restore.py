"""Writing paths as they were, by plumbing; the person's index stays as it is.

Git keeps neither who may read a file nor always its line ends: of these, what is there now stays.
No folder goes with what lies in it.
"""

from __future__ import annotations

import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from loop.errors import LoopError
from loop.git.command import Repository
from loop.git.diff import ABSENT, Entry
from loop.git.snapshot import settings_in, temporary_index

_FILE, _PROGRAM = "100644", "100755"


def put_back(repository: Repository, changed: Iterable[Entry]) -> None:
    """Writes each path as it was before, and removes those that were not there.

    Raises:
        GitError: git refused.
        LoopError: a file can't be removed.
    """
    root = repository.git.folder
    changed = list(changed)
    for change in changed:
        if change.old_mode == ABSENT:
            _remove(root, root / change.path)
    present = [e for e in changed if e.old_mode != ABSENT]
    if not present:
        return
    windows = {e.path for e in present if _has_windows_ends(repository, e)}
    rights = {e.path: _rights(root / e.path) for e in present}
    info = "".join(f"{e.old_mode} {e.old_id}\t{repository.prefix}{e.path}\0" for e in present)
    data = info.encode(errors="surrogateescape")
    with temporary_index(repository, copy=False) as env:
        git = repository.git
        git.run("update-index", "-z", "--index-info", data=data, env=env)
        like_windows = settings_in(splitIndex="false", autocrlf="true")
        for there, extra in ((False, {}), (True, like_windows)):
            names = "".join(f"{e.path}\0" for e in present if (e.path in windows) == there)
            data = names.encode(errors="surrogateescape")
            git.run("checkout-index", "--force", "-z", "--stdin", data=data, env=env | extra)
    for change in present:
        may = rights[change.path]
        if may is not None and change.old_mode in (_FILE, _PROGRAM):
            runs = (may & 0o444) >> 2 if change.old_mode == _PROGRAM else 0
            (root / change.path).chmod(may | runs)


def _rights(place: Path) -> int | None:
    """Who may read and write a file, which git does not keep; None when there is none."""
    try:
        mode = place.lstat().st_mode
    except OSError:
        return None
    return mode & 0o666 if stat.S_ISREG(mode) else None


def _has_windows_ends(repository: Repository, change: Entry) -> bool:
    """Whether the file has line ends of Windows that git takes off before it keeps a content.

    The content to write has lost them, too; it is written with those that are there now.
    """
    git, place = repository.git, repository.git.folder / change.path
    if change.old_mode not in (_FILE, _PROGRAM) or place.is_symlink() or not place.is_file():
        return False
    now = place.read_bytes()
    if b"\r\n" not in now or now.count(b"\n") != now.count(b"\r\n"):
        return False
    before = git.run("cat-file", "blob", change.old_id)
    if b"\r" in before:
        return False
    windows = before.replace(b"\n", b"\r\n")
    kept = git.run("hash-object", "--stdin", f"--path={change.path}", data=windows)
    return kept.decode().strip() == change.old_id


def _remove(root: Path, place: Path) -> None:
    """Removes a file and the folders above it that are empty then."""
    try:
        place.unlink(missing_ok=True)
    except NotADirectoryError:
        return  # a file stands where its folder was: it is gone
    except OSError as error:
        raise LoopError(f"{place} can't be removed: {error.strerror}") from error
    with suppress(OSError):
        for parent in place.parents:
            if parent == root:
                break
            parent.rmdir()  # only an empty one can be removed
