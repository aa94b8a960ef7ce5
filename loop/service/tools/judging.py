"""Tools for what has ended: see the change, take it back, ask the person."""

from __future__ import annotations

import asyncio
from typing import Any

from loop.actions import requeue, review, undo
from loop.core.task_id import checked_id
from loop.service.tools.arguments import Escalate, Review, UndoTask
from loop.service.tools.tool import Tool, Wiring
from loop.service.worker import utc_now

#: Paths of one kind that an answer names.
_MOST_PATHS = 20


class Judging:
    """Tools for what has ended: see the change, take it back, ask the person."""

    def __init__(self, wiring: Wiring) -> None:
        self._project = wiring.project

    def tools(self) -> list[Tool]:
        """These tools."""
        return [
            Tool(
                "escalate_to_user",
                "Record that the person must decide, and get the words to put to them: product "
                "trade-offs, what can't be undone, denials that are a real boundary.",
                Escalate,
                {"id": "string", "say": "string"},
                self._escalate,
                idempotent=False,
            ),
            Tool(
                "review_changes",
                "What a settled task did: summary, files, diff (whole files up to max_bytes, "
                "20000), commits, denials, verification, warnings. path: one file or folder.",
                Review,
                {"task_id": "string", "status": "string", "summary": "string"},
                self._review,
                read_only=True,
            ),
            Tool(
                "undo_task",
                "Take back what only this task changed; paths that others changed since are "
                "listed, and taken only with force: true. Again: brings the work back.",
                UndoTask,
                {"id": "string", "taken_back": "array", "overtaken": "array"},
                self._undo,
                destructive=True,
                idempotent=False,
            ),
        ]

    async def _escalate(self, a: Escalate) -> dict[str, Any]:
        words = await asyncio.to_thread(
            requeue.escalate, self._project, str(a.task_id), a.question, a.options, utc_now()
        )
        hint = "put this to the person and end your turn; then requeue_task with from_user: true"
        return {"id": checked_id(a.task_id), "say": words, "next": hint}

    async def _review(self, a: Review) -> dict[str, Any]:
        most = review.DEFAULT_DIFF_BYTES if a.max_bytes is None else max(0, a.max_bytes)
        return await asyncio.to_thread(
            review.review, self._project, str(a.task_id), a.path, most, utc_now()
        )

    async def _undo(self, a: UndoTask) -> dict[str, Any]:
        def run() -> undo.Undoing:
            now = utc_now()
            return undo.undo(self._project, str(a.task_id), "architect", now, force=a.force)

        done = await asyncio.to_thread(run)
        data: dict[str, Any] = {
            "id": done.task_id,
            "taken_back": done.taken_back[:_MOST_PATHS],
            "more_taken_back": max(0, len(done.taken_back) - _MOST_PATHS) or None,
            "overtaken": done.overtaken[:_MOST_PATHS],
            "more_overtaken": max(0, len(done.overtaken) - _MOST_PATHS) or None,
            "commit": done.commit,
        }
        if done.redone:
            data["note"] = "the task had been undone; its work is back"
        elif not done.taken_back:
            data["note"] = (
                "nothing was taken back: others changed these paths since"
                if done.overtaken
                else "nothing was taken back: the files are as they were before the task"
            )
        if done.skipped:
            data["not_committed"] = done.skipped
        return {k: v for k, v in data.items() if v is not None}
