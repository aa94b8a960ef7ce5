"""Tools that look: how it goes, one task, a list, what happened."""

from __future__ import annotations

import asyncio
from typing import Any

from loop.actions.listing import STATES, Filter, listing
from loop.actions.observer import Answer, Observer
from loop.actions.one_task import task_in_full
from loop.core.config import Wait
from loop.core.mask import masked
from loop.core.task_id import checked_id
from loop.errors import BadInput, NotReady
from loop.service.tools.arguments import Check, GetTask, ListTasks, Timeline
from loop.service.tools.tool import Tool, Wiring
from loop.service.worker import utc_now
from loop.store import timeline
from loop.store.project_files import load_config
from loop.store.scan import QueueScan

_MAX_LOG_BYTES = 65536
#: Seconds within which another server becomes the owner after one has ended.
_TAKE_OVER_S = 2.5


class Observing:
    """Tools that look: how it goes, one task, a list, what happened."""

    def __init__(self, wiring: Wiring) -> None:
        self._project = wiring.project
        self._wakeups = wiring.wakeups
        self._trouble = wiring.trouble
        self._observer = Observer(wiring.project, wiring.env, wiring.trouble)
        self._scan = QueueScan(wiring.project, utc_now)

    def tools(self) -> list[Tool]:
        """These tools."""
        return [
            Tool(
                "check_builder_status",
                "Waits (25 s) until a task ends and answers at that moment. Call it again while it "
                "says running or queued; end your turn when `next` says so. Without task_id: what "
                "has ended since the last answer.",
                Check,
                {"state": "string"},
                self._check,
                read_only=True,
            ),
            Tool(
                "get_task",
                "A task in full, with its result, what it depends on and its subtasks; log_tail "
                "adds the last bytes of its log.",
                GetTask,
                {"state": "string", "task": "object"},
                self._get_task,
                read_only=True,
            ),
            Tool(
                "list_tasks",
                "Tasks with counts: running, queued in their order, then the last settled. "
                "state: running, queued, blocked, success, failure or needs_input; parent: the "
                "subtasks of a task.",
                ListTasks,
                {"counts": "object", "tasks": "array"},
                self._list_tasks,
                read_only=True,
            ),
            Tool(
                "show_timeline",
                "The last events, oldest first; of one task with task_id.",
                Timeline,
                {"events": "array"},
                self._show_timeline,
                read_only=True,
            ),
        ]

    async def _check(self, a: Check) -> dict[str, Any]:
        wait = await asyncio.to_thread(self._wait_settings)
        asked_s = wait.default_s if a.wait_seconds is None else a.wait_seconds
        wait_s = min(max(asked_s, 0.0), wait.max_s)
        clock = asyncio.get_running_loop().time
        deadline = clock() + wait_s
        take_over = min(deadline, clock() + _TAKE_OVER_S)
        with self._wakeups.subscribe() as wakeup:
            while True:
                answer = await asyncio.to_thread(self._look, a.task_id)
                left_s = (take_over if answer.passing else deadline) - clock()
                if answer.final and not answer.passing:
                    break
                if left_s <= 0 or not await wakeup.wait(left_s):
                    break
            if not answer.final or answer.passing:
                answer = await asyncio.to_thread(self._look, a.task_id)
        self._observer.delivered(answer)
        trouble = self._trouble()
        data = answer.data if trouble is None else answer.data | {"trouble": trouble}
        if asked_s > wait.max_s and not answer.final:
            return data | {"note": f"waited {wait.max_s:g} s, the most this server waits"}
        return data

    def _wait_settings(self) -> Wait:
        """How long to wait; a broken config.json keeps no result from the Architect."""
        try:
            return load_config(self._project).wait
        except NotReady:
            return Wait()

    def _look(self, task_id: str | int | None) -> Answer:
        if task_id is None:
            return self._observer.look(utc_now())
        return self._observer.look_at(str(task_id), utc_now())

    async def _get_task(self, a: GetTask) -> dict[str, Any]:
        tail_bytes = min(max(a.log_tail or 0, 0), _MAX_LOG_BYTES)
        return await asyncio.to_thread(
            lambda: task_in_full(
                self._project, self._scan.look(), str(a.task_id), tail_bytes, utc_now()
            )
        )

    async def _list_tasks(self, a: ListTasks) -> dict[str, Any]:
        if a.state is not None and a.state not in STATES:
            raise BadInput("state", f"is one of {', '.join(STATES)}")
        limit = min(max(a.limit if a.limit is not None else 20, 1), 100)
        parent = None if a.parent is None else checked_id(a.parent)
        wanted = Filter(state=a.state, role=a.role, parent=parent)
        return await asyncio.to_thread(
            lambda: listing(self._project, self._scan.look(), wanted, limit, utc_now())
        )

    async def _show_timeline(self, a: Timeline) -> dict[str, Any]:
        limit = min(max(a.limit if a.limit is not None else 20, 1), 200)
        task_id = None if a.task_id is None else checked_id(a.task_id)
        events = await asyncio.to_thread(timeline.last, self._project.timeline, limit, task_id)
        return {"events": [_shortened(event) for event in events]}


def _shortened(event: dict[str, Any]) -> dict[str, Any]:
    def short(value: Any) -> Any:
        if isinstance(value, str) and len(value) > 300:
            return f"{masked(value)[:299]}…"  # a cut secret would not be known for one
        return [short(v) for v in value[:5]] if isinstance(value, list) else value

    return {k: short(v) for k, v in event.items()}
