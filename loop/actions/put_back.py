"""A run's record put back where it was: `.ai` may be removed while the run goes on.

The Builder works on, its log is a file without a name, and its shim finds no place for the exit
file. The worker holds the log open from before the launch until there is a result, and knows the
record, so the result can be had once the folders are there again.
"""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from loop.core.event import RunRecovered
from loop.core.task import Task, task_dict
from loop.errors import NotFound
from loop.store.files import replace
from loop.store.journal import transition
from loop.store.paths import Project
from loop.store.scan import locate, read_task


class KeptRun:
    """The record and the log of a run, held on to until `close`; the log is made if none is there.

    Attributes:
        task: the record, with the run as its last.
        descriptor: the open log; None when it could not be opened, and after `close`.
    """

    def __init__(self, project: Project, task: Task) -> None:
        self.task = task
        self.descriptor: int | None = None
        self._project = project
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0)
        with suppress(OSError):  # no folder, a full disk: there is nothing to be kept
            self.descriptor = os.open(project.log(task.id), flags, 0o600)

    def close(self) -> None:
        """Lets go of the log."""
        if self.descriptor is not None:
            os.close(self.descriptor)
            self.descriptor = None

    def is_of(self, task: Task | None) -> bool:
        """Whether a record is of the same run."""
        ours = self.task.runs[-1].uuid
        return task is not None and bool(task.runs) and task.runs[-1].uuid == ours

    def is_in_place(self) -> bool:
        """Whether there is a record of a run of that number."""
        return self._project.task_file(self._project.running, self.task.id).exists()

    def put_back(self, now: datetime) -> bool:
        """Makes sure that a run that is over can be judged; False while the folders are gone.

        Another task that got its number meanwhile keeps it.

        Raises:
            LoopError: the disk does not take it.
        """
        project = self._project
        if not all(folder.is_dir() for folder in (project.state, project.running, project.logs)):
            return False
        record = project.task_file(project.running, self.task.id)
        if self.is_in_place():
            if self.is_of(read_task(record, self.task.id, now)):
                self._put_back_log(project.log(self.task.id))
            return True
        with transition(project) as t:
            try:
                locate(project, self.task.id, now)
            except NotFound:
                self._put_back_log(project.log(self.task.id))
                t.put(record, task_dict(self.task))
                t.append(
                    RunRecovered(
                        ts=now, actor="builder", task_id=self.task.id, run=self.task.run,
                        found="put_back",
                    )
                )  # fmt: skip
        return True

    def _put_back_log(self, path: Path) -> None:
        """Writes the log where it was, if there is none or an older copy of it."""
        if self.descriptor is None:
            return
        ours = os.fstat(self.descriptor)
        try:
            there = path.stat()
        except FileNotFoundError:
            there = None
        if there and (os.path.samestat(ours, there) or there.st_size >= ours.st_size):
            return
        with open(self.descriptor, "rb", closefd=False) as file:
            file.seek(0)
            replace(path, file.read())
