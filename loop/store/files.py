"""Writing files whole, or not at all.

Two verbs that are not the same: `replace` puts a file in the place of another or of none,
`move_if_absent` fails when the place is taken. A reader sees the old file or the new one. Files
being written have names that begin with a dot, which no reader takes for one of ours.

A crash between the steps of `replace` (write temporary file, flush, fsync, rename, fsync the
folder) leaves the old file and a temporary one, which `sweep_temporary` removes.
"""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path

from loop.errors import LoopError

#: Errors of Windows that pass when a reader closes the file: access denied, sharing violation.
_TRANSIENT = (5, 32)


def replace(path: Path, data: bytes, *, durable: bool = True) -> None:
    """Writes a file whole in the place of what was there.

    `durable`: it survives a power cut (fsync of file and folder); otherwise a crash of the process.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(descriptor, view) :]
            if durable:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
        _rename(temporary, path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise cannot_write(path, error) from error
    if durable:
        sync_folder(path.parent)


def _rename(source: Path, target: Path) -> None:
    for wait_s in (0.01, 0.02, 0.05, 0.1, 0.2, 0.4, None):
        try:
            source.replace(target)
            return
        except PermissionError as error:
            if wait_s is None or getattr(error, "winerror", None) not in _TRANSIENT:
                raise
            time.sleep(wait_s)


def move_if_absent(source: Path, target: Path) -> bool:
    """Moves a file to a place that must be free; False when it is taken."""
    try:
        os.link(source, target)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EXDEV):
            raise
        if target.exists():  # no hard links here: the state lock keeps this check true
            return False
        source.rename(target)
        return True
    source.unlink()
    return True


def read(path: Path) -> bytes | None:
    """The content of a file; None when there is none."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def read_end(path: Path, size_bytes: int) -> bytes:
    """The last `size_bytes` of a file, or all of it; empty when there is none."""
    try:
        with path.open("rb") as file:
            end = file.seek(0, os.SEEK_END)
            file.seek(max(0, end - size_bytes))
            return file.read()
    except FileNotFoundError:
        return b""


def sync_folder(folder: Path) -> None:
    """Makes renames and removals in a folder survive a power cut."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sweep_temporary(folder: Path) -> None:
    """Removes temporary files whose writer is dead."""
    import psutil  # takes 20 ms, which no command should pay for

    for path in folder.glob(".*.tmp"):
        writer = path.name.split(".")[-2]
        if writer.isdigit() and not psutil.pid_exists(int(writer)):
            path.unlink(missing_ok=True)


def cannot_write(path: Path, error: OSError) -> LoopError:
    """The expected error for a file that can't be written."""
    causes = {
        errno.ENOSPC: "the disk is full; make room",
        errno.EDQUOT: "the disk quota is used up; make room",
        errno.EROFS: "the disk is read-only",
        errno.EACCES: "no permission to write there",
        errno.EPERM: "the system forbids it; on macOS allow the app under Privacy & Security",
        errno.ENOENT: "its folder is gone; run `loop init` again",
    }
    return LoopError(f"can't write {path}: {causes.get(error.errno or 0, error.strerror or error)}")
