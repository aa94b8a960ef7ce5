"""The end of the process."""

from __future__ import annotations

import asyncio
import json

from loop.service import app
from loop.service.worker import WorkerOptions, utc_now
from loop.store.locks import FileLock
from loop.store.paths import Project
from tests.tasks import claim, submit


async def test_a_state_lock_that_is_held_does_not_hold_up_the_end(project: Project) -> None:
    project.config.write_text(json.dumps({"on_shutdown": "stop"}))
    parts = app._parts(project, WorkerOptions())
    parts.worker._keep(claim(project, submit(project, utc_now()), utc_now()))
    assert parts.worker._lock.try_acquire()
    held = FileLock(project.state_lock)
    assert held.try_acquire()
    async with asyncio.timeout(5):
        await app._until_over(parts, asyncio.sleep(0), [])
    held.release()
    parts.worker._lock.release()


async def test_a_run_is_asked_to_end_where_the_settings_want_it(project: Project) -> None:
    project.config.write_text(json.dumps({"on_shutdown": "stop"}))
    parts = app._parts(project, WorkerOptions())
    parts.worker._keep(claim(project, submit(project, utc_now()), utc_now()))
    assert parts.worker._lock.try_acquire()
    await app._until_over(parts, asyncio.sleep(0), [])
    assert project.run_file("1", "cancel").exists()
    parts.worker._lock.release()
