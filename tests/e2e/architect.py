"""The Architect's place in an end-to-end test: one session with one server, and its habits.

Owns: calling tools and waiting for a task as the Architect would. Does not own: the server.

Invariant: every wait is bounded.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from mcp import Client

#: Seconds that one call may take; longer than the longest wait that is asked for here.
_CALL_S = 40.0
_WAITING = ("queued", "running")


@dataclass(frozen=True)
class Architect:
    """A session with one server, in the Architect's place."""

    client: Client
    #: of the server
    pid: int

    async def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool that must not refuse; its structured answer."""
        answer = await asyncio.wait_for(self.client.call_tool(name, arguments), _CALL_S)
        assert not answer.is_error, answer.content
        content: dict[str, Any] = answer.structured_content or {}
        return content

    async def refusal(self, name: str, **arguments: Any) -> str:
        """Call a tool that must refuse; what it says."""
        answer = await asyncio.wait_for(self.client.call_tool(name, arguments), _CALL_S)
        words = "".join(getattr(block, "text", "") for block in answer.content)
        assert answer.is_error, f"{name} took {arguments}: {words}"
        return words

    async def queue(self, *instructions: str, **fields: Any) -> str:
        """Queue a task; its id."""
        answer = await self.call("queue_task", instructions=list(instructions), **fields)
        return str(answer["id"])

    async def wait(self, task_id: str) -> dict[str, Any]:
        """Ask again, as the Architect would, until there is nothing to wait for."""
        for _ in range(4):
            seen = await self.call("check_builder_status", task_id=task_id, wait_seconds=10)
            if seen["state"] not in _WAITING:
                return seen
        raise AssertionError(f"task {task_id} did not end: {seen}")

    async def done(self, task_id: str) -> dict[str, Any]:
        """Wait for the task's end; what the Architect reads of its result."""
        seen = await self.wait(task_id)
        assert "results" in seen, seen
        (result,) = seen["results"]
        assert isinstance(result, dict)
        return result
