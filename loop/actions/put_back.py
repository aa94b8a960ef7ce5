"""A run's record put back where it was: `.ai` may be removed while the run goes on.

The Builder works on, its log is a file without a name, and its shim finds no place for the exit
file. The worker that waits for the run holds the log open and knows the record, so the result can
be had once the folders are there again.
"""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path
from types import TracebackType

from loop.core.event import RunRecovered
from loop.core.task import Task, task_dict
from loop.errors import NotFound
from loop.store.files import replace
from loop.store.journal import transition
from loop.store.paths import Project
from loop.store.scan import locate


class KeptLog:
    """A log held open, so that it can be read after it was removed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None

    def __enter__(self) -> KeptLog:
        try:
            self._descriptor = os.open(self._path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        except FileNotFoundError:
            self._descriptor = None
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def put_back(self) -> None:
        """Writes the log where it was, if there is none or an older copy of it.

        Raises:
            LoopError: the disk does not take it.
        """
        if self._descriptor is None:
            return
        ours = os.fstat(self._descriptor)
        try:
            there = self._path.stat()
        except FileNotFoundError:
            there = None
        if there and (os.path.samestat(ours, there) or there.st_size >= ours.st_size):
            return
        with open(self._descriptor, "rb", closefd=False) as file:
            file.seek(0)
            replace(self._path, file.read())


def put_back(project: Project, task: Task, log: KeptLog, now: datetime) -> bool:
    """Makes sure that a run that has ended can be judged; False while the folders are gone.

    Another task that got its number meanwhile keeps it.

    Raises:
        LoopError: the disk does not take it.
    """
    folders = (project.state, project.running, project.logs)
    if not all(folder.is_dir() for folder in folders):
        return False
    log.put_back()
    record = project.task_file(project.running, task.id)
    if record.exists():
        return True
    with transition(project) as t:
        try:
            locate(project, task.id, now)
        except NotFound:
            t.put(record, task_dict(task))
            t.append(
                RunRecovered(
                    ts=now, actor="builder", task_id=task.id, run=task.run, found="put_back"
                )
            )
    return True
