"""Why nothing is claimed: a pause, something missing, no worker."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from loop.actions.ready import MENDABLE, missing
from loop.builder.session import is_alive
from loop.store import pauses
from loop.store.paths import Project
from loop.store.project_files import Pause, read_owner, read_pause
from loop.store.shift import living

#: What an answer says that one does next.
CALL_AGAIN = "call again"
END_TURN = "end your turn; nothing will change by waiting"


@dataclass(frozen=True, slots=True)
class Held:
    """Why nothing is claimed."""

    data: dict[str, Any]
    #: a moment may change it: a pause is lifted, another server takes over
    passing: bool = False


def held(
    project: Project,
    env: Mapping[str, str],
    trouble: Callable[[], str | None],
    now: datetime,
) -> Held | None:
    """Why nothing is claimed; None when a worker claims what waits.

    `trouble` says what keeps the worker of this process from working, if anything does.
    """
    pause = read_pause(project)
    problem = missing(project, env) or trouble()
    if problem is not None:
        return Held({"state": "paused", "reason": str(problem), "next": END_TURN})
    if pause is not None:
        data = {"state": "paused", **pause_data(pause), "next": END_TURN}
        return Held(data, passing=_is_over(pause, now))
    if read_owner(project) is None and living(project, is_alive) is None:
        reason = "no worker: Claude Desktop or `loop work` must be open for this project"
        return Held({"state": "no_worker", "reason": reason, "next": END_TURN}, passing=True)
    return None


def lift_when_through(project: Project, now: datetime) -> None:
    """Lifts the worker's pause for what the account or the service refused: a run went through."""
    pause = read_pause(project)
    if pause is not None and pause.by == "worker" and pause.kind not in MENDABLE:
        pauses.resume(project, "builder", now, "a run went through")


def _is_over(pause: Pause, now: datetime) -> bool:
    """Whether the worker lifts a pause, or tries what it is about, as soon as it looks.

    Nothing must be missing here.
    """
    if pause.by != "worker":
        return False
    return pause.kind in MENDABLE if pause.until is None else pause.until <= now


def pause_data(pause: Pause) -> dict[str, Any]:
    """A pause as plain data."""
    data = {"reason": pause.reason, "by": pause.by}
    return data | ({"until": time_text(pause.until)} if pause.until else {})


def time_text(moment: datetime) -> str:
    """A moment in RFC 3339, to the second."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
