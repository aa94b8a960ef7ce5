"""What a reset has put out of sight: `.ai/archive/<UTC>/`, laid out as `.ai` itself.

Lists leave it out. A task that is asked for by its id and lies nowhere else is found here, so a
success still counts for those that stand on it, and no id is given again. Nothing is deleted.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

from loop.core.task_id import stem
from loop.store.files import free_name
from loop.store.paths import Project

#: Files of a task, beside each other in every archive.
_LOGS = ("log", "err")


def archives(project: Project) -> list[Path]:
    """The folder of each reset, the latest first."""
    try:
        names = os.listdir(project.archive)  # noqa: PTH208 -- asked for each task that is not there
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [project.archive / name for name in sorted(names, reverse=True)]


def new_archive(project: Project, now: datetime) -> Path:
    """The folder for a reset that begins now; it is made."""
    name = now.astimezone(UTC).strftime("%Y-%m-%dT%H-%M-%SZ")
    folder = free_name(project.archive / name)
    (folder / "completed").mkdir(parents=True)
    (folder / "logs").mkdir()
    return folder


def results_of(project: Project, task_id: str) -> list[Path]:
    """The archived results of a task: one for each time that it was put away."""
    name = f"{stem(task_id)}.json"
    paths = [folder / "completed" / name for folder in archives(project)]
    return [path for path in paths if path.exists()]


def logs_of(project: Project, task_id: str) -> list[tuple[Path, Path]]:
    """The logs of a task that are archived and not in their place: from where, to where."""
    found = []
    for suffix in _LOGS:
        name = f"{stem(task_id)}.{suffix}"
        paths = [folder / "logs" / name for folder in archives(project)]
        there = next((path for path in paths if path.exists()), None)
        if there is not None and not (project.logs / name).exists():
            found.append((there, project.logs / name))
    return found


def log_of(project: Project, task_id: str) -> Path:
    """The log of a task, wherever it is; where it would be when there is none."""
    away = [source for source, place in logs_of(project, task_id) if place.suffix == ".log"]
    return away[0] if away else project.log(task_id)


def is_archived(project: Project, task_id: str) -> bool:
    """Whether a task is only in the archive."""
    here = project.task_file(project.completed, task_id).exists()
    return not here and bool(results_of(project, task_id))
