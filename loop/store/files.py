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
from contextlib import suppress
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
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise cannot_write(path, error) from error
    if durable:
        sync_folder(path.parent)


def overwrite(path: Path, data: bytes) -> None:
    """Writes over the beginning of a file, in place: only for what is checked when it is read.

    Costs a tenth of `replace`, and does not survive a power cut.
    """
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(descriptor, view) :]
        finally:
            os.close(descriptor)
    except OSError as error:
        raise cannot_write(path, error) from error


def _rename(source: Path, target: Path) -> None:
    for wait_s in (0.01, 0.02, 0.05, 0.1, 0.2, 0.4, None):
        try:
            source.replace(target)
            return
        except PermissionError as error:
            if wait_s is None or getattr(error, "winerror", None) not in _TRANSIENT:
                raise
            time.sleep(wait_s)


def move_aside(source: Path, target: Path) -> None:
    """Moves a file, under a name that is free there; nothing happens when there is no file."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _rename(source, free_name(target))
    except FileNotFoundError:
        return
    except OSError as error:
        raise cannot_write(target, error) from error


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


def free_name(path: Path) -> Path:
    """The path, or with a number added the first one that is free."""
    number = 0
    free = path
    while os.path.lexists(free):
        number += 1
        free = path.with_name(f"{path.name}.{number}")
    return free


def read(path: Path) -> bytes | None:
    """The content of a file; None when there is none."""
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
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


def text_at_end(path: Path, size_bytes: int) -> str:
    """The end of a text file that others may have edited.

    Empty when there is no plain file that can be read.
    """
    try:
        return read_end(path, size_bytes).decode(errors="replace") if path.is_file() else ""
    except OSError:
        return ""


def sync_folder(folder: Path) -> None:
    """Makes renames and removals in a folder survive a power cut."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _is_alive(pid: int) -> bool:
    import psutil  # takes 20 ms, which nobody should pay for nothing

    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
    except psutil.Error:
        return True


def sweep_temporary(folder: Path) -> None:
    """Removes temporary files whose writer is dead."""
    try:
        names = os.listdir(folder)  # noqa: PTH208 -- a Path for each of 10,000 names takes its time
    except FileNotFoundError:
        return
    for name in names:
        if not (name.startswith(".") and name.endswith(".tmp")):
            continue
        writer = name.split(".")[-2]
        if writer.isdigit() and not _is_alive(int(writer)):
            (folder / name).unlink(missing_ok=True)


_CAUSES = {
    errno.ENOSPC: "the disk is full; make room",
    errno.EDQUOT: "the disk quota is used up; make room",
    errno.EROFS: "the disk is read-only",
    errno.EACCES: "no permission to use it",
    errno.EPERM: "the system forbids it; on macOS allow the app under Privacy & Security",
    errno.ENOENT: "its folder is gone; run `loop init` again",
    errno.ENOTDIR: "a file is in the place of its folder; move it away, run `loop init` again",
    errno.EIO: "an input/output error, the disk fails",
}


def cannot_write(path: Path, error: OSError) -> LoopError:
    """The expected error for a file that can't be written."""
    return LoopError(f"can't write {path}: {_cause(error)}")


def cannot_use(error: OSError) -> LoopError:
    """The expected error for what the system refused, whatever was to be done."""
    where = f" {error.filename}" if error.filename else ""
    return LoopError(f"the disk or the system refuses{where}: {_cause(error)}")


def _cause(error: OSError) -> str:
    return _CAUSES.get(error.errno or 0) or error.strerror or str(error)
