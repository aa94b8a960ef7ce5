"""How it goes, for one who asks again and again and wants each ending told once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from loop.actions.brief import brief
from loop.actions.held import CALL_AGAIN, END_TURN, Held, held
from loop.actions.progress import ProgressReader
from loop.actions.ready import missing
from loop.actions.session_seen import in_session
from loop.actions.standing import blocked_data, parent_data
from loop.actions.waiting import why_none
from loop.core.result import Result
from loop.core.task import Task
from loop.core.task_id import sort_key
from loop.errors import LoopError
from loop.store import timeline
from loop.store.dependencies import graph_of, queued_below
from loop.store.paths import Project
from loop.store.scan import QueueScan, count_files, ids_in, locate, read_result, read_task


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer to the question how it goes. `final`: waiting longer changes nothing."""

    data: dict[str, Any]
    final: bool
    #: a moment may change it though it is final: a pause is lifted, another server takes over
    passing: bool = False
    #: how far in the timeline it tells of what has ended; None when it tells of one task
    read_up_to: int | None = None
    #: the ended task that it tells of by its id, with the run
    told: tuple[str, int] | None = None


class Observer:
    """Answers how it goes, again and again; knows what it has told already.

    A look changes nothing: what it found counts as told once `delivered` says so, since the caller
    may be gone before it has the answer. Looks of several threads follow each other.
    """

    def __init__(
        self,
        project: Project,
        env: Mapping[str, str],
        trouble: Callable[[], str | None] = lambda: None,
    ) -> None:
        """`trouble` says what keeps the worker of this process from working, if anything does."""
        self._project = project
        self._env = env
        self._trouble = trouble
        self._reader = ProgressReader(project)
        self._scan = QueueScan(project, lambda: datetime.now(UTC))
        self._read = timeline.size_of(project.timeline)
        self._seen = self._read
        #: ended tasks that were told of by their id, with the run
        self._told: set[tuple[str, int]] = set()
        self._one_at_a_time = threading.Lock()

    def delivered(self, answer: Answer) -> None:
        """Takes note that an answer has been given: what it tells is not told again."""
        seen = answer.read_up_to
        was_replaced = self._read > timeline.size_of(self._project.timeline)
        if seen is not None and (seen > self._read or was_replaced):
            self._read = seen
        if answer.told is not None:
            self._told.add(answer.told)

    def look_at(self, task_id: str, now: datetime) -> Answer:
        """How one task goes.

        Raises:
            BadInput: it is not an id.
            NotFound: no such task.
        """
        with self._one_at_a_time:
            return self._look_at(task_id, now)

    def _look_at(self, task_id: str, now: datetime) -> Answer:
        broken = self._broken()
        if broken is not None:
            return broken
        located = locate(self._project, task_id, now)
        task = located.task
        if located.result is not None:
            data = {"state": located.state, "results": [brief(located.result)]}
            return Answer(data, True, told=(task.id, task.run))
        if located.state == "running":
            return self._running(task, now)
        below = queued_below(self._project, task, now)
        graph = graph_of(self._project, below, now)
        standing = graph.standing(task.id)
        if standing.state == "blocked" and standing.cause is not None:
            return Answer(blocked_data(self._project, task, standing.cause, now), True)
        kept = self._held(now)
        if task.children:
            told = parent_data(task, standing, lambda part: graph.standing(part).state)
            if kept and standing.state == "queued":
                told |= {"reason": kept.data.get("reason"), "next": kept.data["next"]}
            return Answer(told, True)
        base: dict[str, Any] = {"state": "queued", "task_id": task.id}
        asking = [n for n in standing.waits_for if self._asks(n, now)]
        if asking:
            base |= {
                "waits_for": asking,
                "next": f"answer task {asking[0]} by requeue_task; it asks",
            }
            return Answer(base, True)
        if kept:
            return Answer(base | kept.data, True, kept.passing)
        stuck = None if standing.ready or self._running_task(now) else self._stuck(now)
        if stuck is not None:
            told = {"waits_for": list(standing.waits_for[:5])}
            return Answer(base | told | {k: stuck[k] for k in ("reason", "next")}, True)
        return Answer(base | {"next": CALL_AGAIN}, False)

    def _asks(self, task_id: str, now: datetime) -> bool:
        try:
            return locate(self._project, task_id, now).state == "needs_input"
        except LoopError:
            return False

    def look(self, now: datetime) -> Answer:
        """What has ended since the last answer; else what runs, waits, or keeps the queue."""
        with self._one_at_a_time:
            while True:
                # Every move of a task is an event, so "idle" is true only if none came meanwhile.
                size = timeline.size_of(self._project.timeline)
                answer = self._look_once(now)
                if "last" not in answer.data or size == timeline.size_of(self._project.timeline):
                    return answer

    def _broken(self) -> Answer | None:
        """The answer when the folders themselves are gone; None when they are there."""
        if self._project.ai.is_dir():
            return None
        problem = missing(self._project, self._env)
        return Answer({"state": "paused", "reason": str(problem), "next": END_TURN}, True)

    def _look_once(self, now: datetime) -> Answer:
        broken = self._broken()
        if broken is not None:
            return broken
        results = self._news()
        seen = self._seen
        if results:
            state = results[0].status if len(results) == 1 else "ended"
            data: dict[str, Any] = {"state": state, "results": [brief(r) for r in results]}
            return Answer(data, True, read_up_to=seen)
        running = self._running_task(now)
        if running is not None:
            return self._running(running, now, read_up_to=seen)
        queued = count_files(self._project.queue)
        kept = self._held(now)
        if queued and kept is None:
            stuck = self._stuck(now)
            if stuck is not None:
                return Answer(stuck | {"last": self._last_five()}, True, read_up_to=seen)
            data = {"state": "queued", "waiting": queued, "next": CALL_AGAIN}
            return Answer(data, False, read_up_to=seen)
        data = {"state": "idle", "waiting": queued} | (kept.data if kept else {"next": END_TURN})
        passing = kept is not None and kept.passing
        return Answer(data | {"last": self._last_five()}, True, passing, read_up_to=seen)

    def _stuck(self, now: datetime) -> dict[str, Any] | None:
        """Why nothing will run though tasks wait; None when one is ready, or may be in a moment."""
        view = self._scan.look()
        graph = graph_of(self._project, view.tasks, now)
        if not view.tasks or graph.next_ready() is not None or graph.ended_parents():
            return None
        return {
            "state": "blocked" if graph.blocked() else "queued",
            "waiting": len(view.tasks),
            "reason": why_none(self._project, view, now),
            "next": "do what the reason says, or end your turn; waiting changes nothing",
        }

    def _news(self) -> list[Result]:
        """Results that came since the last look and were not told of; at most the last ten."""
        events, self._seen = timeline.read_from(self._project.timeline, self._read)
        ended: dict[str, None] = {}
        for event in events:
            settled = event["event"] == "run_completed" and not event.get("retry")
            cancelled = event["event"] == "task_cancelled" and "run" not in event
            if settled or cancelled:
                ended[str(event.get("task_id"))] = None
        found = (read_result(self._project, task_id) for task_id in list(ended)[-10:])
        return [result for result in found if result is not None and self._is_news(result)]

    def _is_news(self, result: Result) -> bool:
        return (result.task_id, result.task.get("run")) not in self._told

    def _running_task(self, now: datetime) -> Task | None:
        for task_id in sorted(ids_in(self._project.running), key=sort_key):
            task = read_task(self._project.task_file(self._project.running, task_id), task_id, now)
            if task is not None and task.runs:
                return task
        return None

    def _running(self, task: Task, now: datetime, read_up_to: int | None = None) -> Answer:
        trouble = self._trouble()
        data = {
            "state": "running",
            "task_id": task.id,
            "progress": self._reader.progress(task, now),
        }
        if in_session(task):
            data["note"] = "an interactive session works on it: only its time is known"
        if trouble is not None:
            data |= {"problem": trouble, "next": END_TURN}
            return Answer(data, True, read_up_to=read_up_to)
        return Answer(data | {"next": CALL_AGAIN}, False, read_up_to=read_up_to)

    def _held(self, now: datetime) -> Held | None:
        return held(self._project, self._env, self._trouble, now)

    def _last_five(self) -> list[str]:
        events = timeline.last(self._project.timeline, 50)
        named: dict[str, str] = {}
        for event in reversed(events):
            if event["event"] == "run_completed" and len(named) < 5:
                named.setdefault(str(event.get("task_id")), str(event.get("status")))
        return [f"{task_id}: {status}" for task_id, status in named.items()]
