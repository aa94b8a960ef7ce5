"""Tools that put tasks into the queue, change them there and steer it."""

from __future__ import annotations

import asyncio
from typing import Any

from loop.actions import change, plan, requeue, submit
from loop.actions.held import pause_data
from loop.actions.session_seen import ENDS_AT_STOP, in_session
from loop.core.task import TaskFields
from loop.service.tools.arguments import (
    EditTask,
    Nothing,
    OneTask,
    Pause,
    QueuePlan,
    QueueTask,
    RequeueTask,
)
from loop.service.tools.tool import Tool, Wiring
from loop.service.worker import utc_now
from loop.store.scan import QueueScan, locate

#: Refs of a plan that an answer lists; its ids are always complete.
_SHOWN = 20


class Queueing:
    """Tools that put tasks into the queue, change them there and steer it."""

    def __init__(self, wiring: Wiring) -> None:
        self._project = wiring.project
        self._wakeups = wiring.wakeups
        self._scan = QueueScan(wiring.project, utc_now)

    def tools(self) -> list[Tool]:
        """These tools."""
        return [
            Tool(
                "queue_task",
                "Queue a task for the Builder (Claude Code in this project's folder). Only what "
                "the person approved. Give all the context it needs; it knows nothing of this "
                "chat. depends_on: ids that must succeed first. Then call check_builder_status.",
                QueueTask,
                {"id": "string", "state": "string"},
                self._queue_task,
                idempotent=False,
            ),
            Tool(
                "queue_plan",
                "Queue up to 200 tasks at once, all or nothing: `ref` names a task in the plan, "
                "depends_on and parent take refs or ids. dry_run only shows order, critical path "
                "and problems. The same plan sent again, as after a timeout, is not queued twice.",
                QueuePlan,
                {"order": "array", "critical_path": "array"},
                self._queue_plan,
                idempotent=False,
            ),
            Tool(
                "requeue_task",
                "Run a settled task again under its id: guidance answers its question or corrects "
                "it; any field can be replaced. from_user: true only on the person's own word. "
                "fresh: true starts without the memory of the last run.",
                RequeueTask,
                {"id": "string", "state": "string"},
                self._requeue_task,
                idempotent=False,
            ),
            Tool(
                "edit_task",
                "Replace fields of a task that is still queued.",
                EditTask,
                {"id": "string", "state": "string"},
                self._edit_task,
            ),
            Tool(
                "cancel_task",
                "Cancel a task: queued at once, running by ending its run. A settled one stays.",
                OneTask,
                {"id": "string", "state": "string"},
                self._cancel_task,
                destructive=True,
            ),
            Tool(
                "pause_queue",
                "Start nothing new until resume_queue; what runs goes on.",
                Pause,
                {"state": "string"},
                self._pause,
            ),
            Tool(
                "resume_queue",
                "Lift the pause in force.",
                Nothing,
                {"state": "string"},
                self._resume,
            ),
        ]

    async def _queue_task(self, a: QueueTask) -> dict[str, Any]:
        submitted = await asyncio.to_thread(
            submit.submit, self._project, _fields(a), a.key, "architect", utc_now()
        )
        self._wakeups.wake()
        task_id = submitted.task.id
        data: dict[str, Any] = {"id": task_id, "state": "queued"}
        if submitted.note is not None:
            located = await asyncio.to_thread(locate, self._project, task_id, utc_now())
            data |= {"state": located.state, "note": submitted.note}
        place = await asyncio.to_thread(lambda: submit.position(self._scan.look(), task_id))
        data["position"] = place
        data["next"] = "call check_builder_status"
        return {k: v for k, v in data.items() if v is not None}

    async def _queue_plan(self, a: QueuePlan) -> dict[str, Any]:
        def run() -> plan.Plan:
            return plan.queue_plan(
                self._project, a.tasks, "architect", utc_now(), dry_run=a.dry_run, key=a.key
            )

        made = await asyncio.to_thread(run)
        self._wakeups.wake()
        data: dict[str, Any] = {
            "order": made.order[:_SHOWN],
            "more": max(0, len(made.order) - _SHOWN) or None,
            "critical_path": made.critical_path[:_SHOWN],
            "in_words": made.words if made.order else None,
            "problems": made.problems or None,
            "note": made.note,
        }
        if made.problems:
            hint = "nothing was queued; mend these and call again"
        elif a.dry_run and made.note is None:
            hint = "nothing was queued; call again without dry_run"
        else:
            data = {"ids": made.ids} | data
            hint = "call check_builder_status"
        return {k: v for k, v in data.items() if v is not None} | {"next": hint}

    async def _requeue_task(self, a: RequeueTask) -> dict[str, Any]:
        def run() -> str:
            task = requeue.requeue(
                self._project,
                str(a.task_id),
                _fields(a),
                a.guidance,
                "architect",
                utc_now(),
                fresh=a.fresh,
                from_user=a.from_user,
            )
            return task.id

        task_id = await asyncio.to_thread(run)
        self._wakeups.wake()
        return {"id": task_id, "state": "queued", "next": "call check_builder_status"}

    async def _edit_task(self, a: EditTask) -> dict[str, Any]:
        task = await asyncio.to_thread(
            change.edit, self._project, str(a.task_id), _fields(a), "architect", utc_now()
        )
        self._wakeups.wake()
        return {"id": task.id, "state": "queued"}

    async def _cancel_task(self, a: OneTask) -> dict[str, Any]:
        located = await asyncio.to_thread(
            change.cancel, self._project, str(a.task_id), "architect", utc_now()
        )
        self._wakeups.wake()
        if located.state == "running":
            how = ENDS_AT_STOP if in_session(located.task) else "its run is being ended"
            hint = f"{how}; call check_builder_status"
            return {"id": located.task.id, "state": "running", "next": hint}
        reason = located.result.reason if located.result else None
        return {"id": located.task.id, "state": located.state, "reason": reason}

    async def _pause(self, a: Pause) -> dict[str, Any]:
        pause = await asyncio.to_thread(
            change.pause, self._project, "architect", a.reason, utc_now()
        )
        self._wakeups.wake()
        return {"state": "paused", **pause_data(pause)}

    async def _resume(self, _a: Nothing) -> dict[str, Any]:
        lifted = await asyncio.to_thread(change.resume, self._project, "architect", utc_now())
        self._wakeups.wake()
        note = "there was no pause" if lifted is None else f"lifted: {lifted.reason}"
        return {"state": "resumed", "note": note}


def _fields(a: TaskFields) -> TaskFields:
    return TaskFields(**{f: getattr(a, f) for f in TaskFields.__struct_fields__})
