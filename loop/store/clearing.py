"""Putting tasks into an archive, some in each transition, so that the lock is held for moments.

Each transition is whole by itself. A reset that was cut off has put away a part; the next one puts
away the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from loop.core import transition as rules
from loop.core.event import Actor, QueueReset
from loop.core.result import result_dict
from loop.store.journal import Transition, transition
from loop.store.paths import Project
from loop.store.progress import archive_of
from loop.store.scan import is_dropped, locate
from loop.store.submissions import forget

_BATCH = 100


def put_away_queued(
    project: Project, archive: Path, ids: Sequence[str], actor: Actor, now: datetime
) -> int:
    """Ends waiting tasks as cancelled, with their results in the archive; how many there were."""
    count = 0
    for start in range(0, len(ids), _BATCH):
        with transition(project) as t:
            for task_id in ids[start : start + _BATCH]:
                located = locate(project, task_id, now)
                if located.state != "queued" or is_dropped(project, task_id, now):
                    continue
                result, event = rules.cancel(located.task, actor, now)
                t.put(project.task_file(archive / "completed", task_id), result_dict(result))
                t.append(event)
                forget(t, located.task)
                _move_logs(t, archive, task_id)
                t.remove(project.task_file(project.queue, task_id))
                count += 1
    return count


def put_away_settled(project: Project, archive: Path, ids: Sequence[str]) -> int:
    """Moves results and logs of tasks that have ended into the archive; how many there were."""
    count = 0
    for start in range(0, len(ids), _BATCH):
        with transition(project) as t:
            for task_id in ids[start : start + _BATCH]:
                result = project.task_file(project.completed, task_id)
                if not result.exists():  # it was requeued meanwhile
                    continue
                t.move(result, project.task_file(archive / "completed", task_id))
                _move_logs(t, archive, task_id)
                count += 1
    return count


def _move_logs(t: Transition, archive: Path, task_id: str) -> None:
    for log in (t.project.log(task_id), t.project.err(task_id)):
        t.move(log, archive / "logs" / log.name)


def note_reset(project: Project, archive: Path | None, event: QueueReset) -> None:
    """Ends a reset: the handoff log goes with what it tells of, and the timeline says it all."""
    with transition(project) as t:
        t.append(event)
        if archive is not None:
            for log in (project.progress, archive_of(project)):
                t.move(log, archive / "logs" / log.name)
