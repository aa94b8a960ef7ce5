"""One run, seen from asyncio: the launcher is started here, and the end of the run waited for.

A run that this process started and one that it found after a restart are waited for alike: by the
lock on the log, which is held as long as the shim or the Builder lives.
"""

from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path

from loop.actions.put_back import KeptRun
from loop.actions.start import Prepared
from loop.store.locks import wait_unlocked
from loop.store.paths import Project


async def spawn(project: Project, prepared: Prepared) -> int:
    """Starts the launcher and waits until it has detached the run, or could not; its exit code.

    What came of it is not asked here: the files say it (core/recovery.py).
    """
    err = project.err(prepared.task.id)
    # For its owner only, like the log: what Claude Code complains of may be private.
    descriptor = os.open(err, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    with os.fdopen(descriptor, "ab") as stderr:
        process = await asyncio.create_subprocess_exec(
            *prepared.command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=stderr,
            cwd=project.root,
            env=prepared.env,
            start_new_session=True,
        )
    return await process.wait()


async def until_unlocked(log: Path) -> None:
    """Waits until nobody holds the lock on a log; at once when there is no log."""
    try:
        descriptor = os.open(log, os.O_RDWR)
    except (FileNotFoundError, NotADirectoryError):
        return
    await _until_free(descriptor)


async def until_let_go(run: KeptRun) -> None:
    """Waits until nobody holds the lock on the log of a run, wherever its name went."""
    if run.descriptor is not None:
        await _until_free(os.dup(run.descriptor))


async def _until_free(descriptor: int) -> None:
    """Waits for the lock of an open file, and closes the file.

    The lock is asked for by a daemon thread, which does not hold up the end of the process, and
    given back as soon as it is had.
    """
    loop = asyncio.get_running_loop()
    over: asyncio.Future[None] = loop.create_future()

    def wait() -> None:
        try:
            wait_unlocked(descriptor)
        finally:
            os.close(descriptor)
        try:
            loop.call_soon_threadsafe(_set, over)
        except RuntimeError:  # the event loop has been closed meanwhile
            return

    threading.Thread(target=wait, name="until free", daemon=True).start()
    await over


def _set(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
