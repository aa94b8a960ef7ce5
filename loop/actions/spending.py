"""What was spent today, by the timeline; a run whose cost nobody knows counts with its maximum."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from loop.core.config import Config
from loop.core.task import Task
from loop.store import timeline
from loop.store.paths import Project


class Spending:
    """Adds up the costs of a project; reads only what is new in the timeline."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._offset = 0
        self._day = ""
        self._usd = 0.0

    def today_usd(self, now: datetime, unknown_usd: float) -> float:
        """US dollars since midnight UTC; `unknown_usd` stands for each cost that is not known."""
        day = now.astimezone(UTC).strftime("%Y-%m-%d")
        if day != self._day:
            self._day, self._usd, self._offset = day, 0.0, 0
        events, self._offset = timeline.read_from(self._project.timeline, self._offset)
        for event in events:
            if str(event.get("ts", "")).startswith(day):
                self._usd += _cost(event, unknown_usd)
        return self._usd


def _cost(event: dict[str, Any], unknown_usd: float) -> float:
    if event["event"] == "run_completed":
        cost = event.get("cost_usd")
        most = event.get("most_usd", unknown_usd)
        return float(cost if isinstance(cost, int | float) else most)
    if event["event"] == "queue_paused":
        cost = event.get("cost_usd")
        unknown = unknown_usd if "run" in event else 0.0
        return float(cost) if isinstance(cost, int | float) else unknown
    return 0.0


def over_budget(
    spending: Spending, task: Task, config: Config, now: datetime
) -> tuple[str, datetime] | None:
    """Why a task may not start today, and until when; None when it may."""
    daily_usd = config.budget.daily_usd
    if daily_usd is None:
        return None
    most_usd = task.max_budget_usd or config.builder.max_budget_usd
    spent_usd = spending.today_usd(now, config.builder.max_budget_usd)
    if spent_usd + most_usd <= daily_usd:
        return None
    midnight = (now.astimezone(UTC) + timedelta(days=1)).replace(
        hour=0, minute=0, second=0, microsecond=0
    )
    reason = (
        f"the daily budget of {daily_usd:g} USD leaves no room for task {task.id}: "
        f"{spent_usd:.2f} spent, up to {most_usd:.2f} needed; raise budget.daily_usd or wait"
    )
    return reason, midnight
