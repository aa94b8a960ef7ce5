"""A file that belongs to somebody else, edited with care: read, copied, replaced whole.

Owns: links, the read-only mark, the mode, the copies of before. Does not own: what the file says.

Invariants: the file is replaced by one rename, after its new content is on the disk. A link stays
a link: its target is replaced. The mode stays. Copies are never overwritten, and only copies of
ours are removed.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import tempfile
from datetime import datetime, timedelta
from pathlib import Path

from loop.errors import LoopError

#: A file made new may come to hold keys of other servers: for its owner only.
_NEW_MODE = 0o600
_COPY_NAME = re.compile(r"\.\d{4}-\d\d-\d\dT\d{6}Z\.loop-backup")


def read(path: Path) -> bytes | None:
    """The content, through links; None if there is no file.

    Raises: LoopError if it can't be read.
    """
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as problem:
        raise _failure(path, "read", problem) from None


def keep_copy(path: Path, content: bytes, at: datetime) -> Path:
    """Write `content` beside the file, with its mode, as its copy of the time `at` (UTC).

    Raises: LoopError if it can't be written; there is no copy then.
    """
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
        while True:
            copy = path.with_name(f"{path.name}.{at:%Y-%m-%dT%H%M%SZ}.loop-backup")
            try:
                number = os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
                break
            except FileExistsError:
                # Two changes in one second: the later copy takes the next free one.
                at += timedelta(seconds=1)
        _fill(number, content, copy)
    except OSError as problem:
        raise _failure(path, "copied", problem) from None
    return copy


def drop_old_copies(path: Path, keep: int) -> None:
    """Remove copies of the file until `keep` are left; one that can't be removed stays.

    The first is kept, since it alone is of the time before us, and beside it the last.
    """
    with contextlib.suppress(OSError):
        copies = sorted(other for other in path.parent.iterdir() if _is_copy(other, path))
        for old in copies[1 : 1 - keep]:
            old.unlink(missing_ok=True)


def replace(path: Path, content: bytes) -> None:
    """Have the file hold `content`, through links and with its old mode.

    Raises: LoopError if it is read-only or can't be written; it holds what it held then.
    """
    try:
        target = path.resolve()
        mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else _NEW_MODE
        number, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        temporary = Path(name)
        _fill(number, content, temporary)
        try:
            temporary.chmod(mode)
            temporary.replace(target)
        except OSError:
            temporary.unlink(missing_ok=True)
            raise
    except (OSError, RuntimeError) as problem:
        raise _failure(path, "written", problem) from None


def refuse_read_only(path: Path) -> None:
    """Do nothing if the file may be written, or is absent.

    A rename would replace a read-only file without a word; its owner meant it to stay.

    Raises: LoopError if it is marked read-only.
    """
    try:
        writable = not path.exists() or path.stat().st_mode & stat.S_IWUSR
    except OSError as problem:
        raise _failure(path, "read", problem) from None
    if not writable:
        raise LoopError(f"{path}: the file is read-only; make it writable and try again")


def _fill(number: int, content: bytes, path: Path) -> None:
    """Write to the open new file and wait for the disk; remove it if that fails."""
    try:
        with os.fdopen(number, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        path.unlink(missing_ok=True)
        raise


def _is_copy(other: Path, path: Path) -> bool:
    return other.name.startswith(path.name) and bool(
        _COPY_NAME.fullmatch(other.name.removeprefix(path.name))
    )


def _failure(path: Path, what: str, problem: OSError | RuntimeError) -> LoopError:
    reason = problem.strerror if isinstance(problem, OSError) and problem.strerror else str(problem)
    return LoopError(f"{path}: can't be {what} ({reason}); mend that and try again")
