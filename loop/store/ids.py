"""The counter of task ids. Ids are never given twice, also when the counter is lost."""

from __future__ import annotations

from loop.core.task_id import is_id, sort_key
from loop.store.archive import archives, results_of
from loop.store.files import overwrite, read
from loop.store.paths import Project
from loop.store.scan import ids_in

#: The counter has one length for ever, so that it can be written in place.
_WIDTH = 12


def next_id(project: Project) -> str:
    """The next free id; only under the state lock. It is taken by writing its file."""
    counter = project.state / "next_id"
    raw = read(counter)
    counted = raw.strip() if raw is not None else b""
    usable = counted.isdigit() and is_id(counted.decode())
    candidate = int(counted) if usable else _highest(project) + 1
    while _taken(project, str(candidate)):
        candidate = max(candidate, _highest(project)) + 1
    overwrite(counter, f"{candidate + 1:<{_WIDTH}}\n".encode())
    return str(candidate)


def _taken(project: Project, task_id: str) -> bool:
    folders = (project.queue, project.running, project.completed)
    return (
        any(project.task_file(folder, task_id).exists() for folder in folders)
        or project.log(task_id).exists()
        or bool(results_of(project, task_id))
    )


def _highest(project: Project) -> int:
    away = [folder / "completed" for folder in archives(project)]
    folders = (project.queue, project.running, project.completed, *away)
    return max((sort_key(i)[0] for folder in folders for i in ids_in(folder)), default=0)
