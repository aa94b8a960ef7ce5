"""How far the run that goes on is."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from loop.builder.stream import RunReader
from loop.core.task import Task
from loop.store.paths import Project


@dataclass(slots=True)
class _Follow:
    run_uuid: str
    reader: RunReader


class ProgressReader:
    """Reads the log of the run that goes on, from where it stopped the last time."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._follow: _Follow | None = None

    def progress(self, task: Task, now: datetime) -> dict[str, Any]:
        """How far the run of a running task is. Seconds; what is not known yet is left out.

        Of the run of an interactive session that is all but how long it takes.
        """
        run = task.runs[-1]
        if run.driver == "session":
            return {"driver": "session", "elapsed_s": _seconds(now, run.started)}
        log = self._project.log(task.id)
        if self._follow is None or self._follow.run_uuid != run.uuid:
            self._follow = _Follow(run.uuid, RunReader(log, run.uuid))
        self._follow.reader.catch_up()
        transcript = self._follow.reader.transcript
        ended = transcript.ended
        known = {
            # A session writes no log of ours.
            "turns": transcript.replies if run.driver == "headless" else None,
            "last_action": transcript.last_action,
            "elapsed_s": _seconds(now, run.started),
            "silent_s": _silent_s(log, now) if run.driver == "headless" else None,
            "cost_usd": ended.session_cost_usd if ended else None,
        }
        return {k: v for k, v in known.items() if v is not None}


def _seconds(now: datetime, since: datetime) -> int:
    return max(0, int((now - since).total_seconds()))


def _silent_s(log: Path, now: datetime) -> int | None:
    try:
        return max(0, int(now.timestamp() - log.stat().st_mtime))
    except FileNotFoundError:
        return None
