"""How the session says its task ended: `.ai/running/0042.report`, one of the run's small files.

A later report of the same run takes the place of an earlier one; one of another run is none.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct, field

from loop.core.result import Report
from loop.core.task import Task
from loop.store.files import read
from loop.store.journal import transition
from loop.store.paths import Project
from loop.store.run_files import require_running


class RunReport(Struct, kw_only=True):
    """A report, with what the checks said when it was given."""

    #: uuid of the run
    run: str
    report: Report
    #: each {command, exit, tail, baseline, failed}
    checks: list[dict[str, Any]] = field(default_factory=list)
    #: commit of the files that were checked; None when nothing was
    checked: str | None = None


def read_report(project: Project, task: Task) -> RunReport | None:
    """What the session has said of the run that goes on; None when nothing, or damaged."""
    try:
        data = read(project.run_file(task.id, "report"))
        found = None if data is None else msgspec.json.decode(data, type=RunReport)
    except (msgspec.DecodeError, UnicodeDecodeError, OSError):
        return None
    return found if found is not None and found.run == task.runs[-1].uuid else None


def write_report(project: Project, task: Task, report: RunReport) -> None:
    """Puts a report on record.

    Raises:
        WrongState: the run is no longer on record.
    """
    with transition(project) as t:
        require_running(t, task)
        t.put(project.run_file(task.id, "report"), msgspec.to_builtins(report))


def withdraw_report(project: Project, task: Task) -> None:
    """Takes a report back, since it is not accepted as it is."""
    with transition(project) as t:
        t.remove(project.run_file(task.id, "report"))
