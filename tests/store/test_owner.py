"""Who is said to have runs executed."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from loop.store.locks import FileLock
from loop.store.paths import Project
from loop.store.project_files import in_workers_place, read_owner, this_process


def test_who_ends_what_was_left_is_no_worker_though_one_held_the_lock_before(
    project: Project,
) -> None:
    worker = FileLock(project.worker_lock)
    assert worker.try_acquire()
    worker.write(msgspec.json.encode(this_process("serve", datetime.now(UTC))))
    assert read_owner(project) is not None
    with in_workers_place(project) as mine:
        assert not mine
    worker.release()  # as by its death: what it wrote stays
    with in_workers_place(project) as mine:
        assert mine
        assert read_owner(project) is None
    assert read_owner(project) is None
