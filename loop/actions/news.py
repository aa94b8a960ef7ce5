"""What is new in the timeline behind a place, in words for people."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from typing import Any

from loop.core.notification import News, all_done, ends_a_task, kind_of, news_of
from loop.core.task import title_of
from loop.errors import LoopError
from loop.store import notified, timeline
from loop.store.notified import Place
from loop.store.paths import Project
from loop.store.scan import ids_in, locate

#: Events that the sum of a queue that is through is made from.
_LOOKED_BACK = 5000


def news_after(project: Project, place: Place, now: datetime) -> tuple[list[News], Place]:
    """What is new behind a place, and the place behind that.

    That all is done is no event: it is what the folders say when the last task has ended.
    """
    events, behind = notified.events_after(project, place)
    while any(map(ends_a_task, events)) and _is_idle(project):
        # Every move of a task is an event: if none came meanwhile, nothing is left indeed.
        more, further = notified.events_after(project, behind)
        if not more:
            news = _told(project, events, now)
            done = all_done(timeline.last(project.timeline, _LOOKED_BACK))
            return news + ([done] if done else []), behind
        events, behind = events + more, further
    return _told(project, events, now), behind


def _is_idle(project: Project) -> bool:
    """Whether nothing is queued and nothing runs."""
    if ids_in(project.queue):
        return False
    # What has a result has ended, though its record may lie in running/ for a moment.
    return not set(ids_in(project.running)) - set(ids_in(project.completed))


def _told(project: Project, events: list[dict[str, Any]], now: datetime) -> list[News]:
    found = (_news(project, event, now) for event in events if kind_of(event) is not None)
    return [news for news in found if news is not None]


def _news(project: Project, event: dict[str, Any], now: datetime) -> News | None:
    title, summary, remarks = "", "", None
    if event.get("task_id") is not None:
        with suppress(LoopError, OSError):
            located = locate(project, str(event["task_id"]), now)
            title = title_of(located.task)
            result = located.result
            if result is not None and located.task.run == event.get("run"):
                summary, remarks = result.summary, result.remarks
    return news_of(event, title, summary, remarks)
