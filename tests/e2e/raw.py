"""JSON-RPC written by hand over a server's pipes, with every byte of its stdout kept."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.e2e.desk import Desk

_ANSWER_S = 30.0
_END_S = 10.0


@dataclass
class RawServer:
    """A server process without a client library."""

    process: asyncio.subprocess.Process
    #: everything that came on stdout
    output: bytes = b""
    _answers: dict[int, dict[str, Any]] = field(default_factory=dict)
    _last_id: int = 0

    @classmethod
    @asynccontextmanager
    async def at(cls, desk: Desk, command: Sequence[str], **env: str) -> AsyncIterator[RawServer]:
        """A server of the desk's project; ended, if need be by force, with the block."""
        with (desk.home / "server.err").open("ab") as err:
            process = await asyncio.create_subprocess_exec(
                *command,
                cwd="/",
                env=desk.env | env,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=err,
                limit=1 << 24,
            )
        server = cls(process)
        try:
            yield server
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()

    async def send(self, line: bytes) -> None:
        """Write one line, whatever it is."""
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        await asyncio.wait_for(self.process.stdin.drain(), _ANSWER_S)

    async def notify(self, method: str, **params: Any) -> None:
        """Send a notification."""
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        await self.send(json.dumps(message).encode())

    async def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a request; the whole answer, an error included."""
        self._last_id += 1
        request = {"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params}
        await self.send(json.dumps(request).encode())
        return await asyncio.wait_for(self._answer(self._last_id), _ANSWER_S)

    async def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool; its result."""
        answer = await self.ask("tools/call", name=name, arguments=arguments)
        result: dict[str, Any] = answer["result"]
        return result

    async def initialize(self, version: str = "2025-06-18") -> dict[str, Any]:
        """Shake hands; what the server says of itself."""
        client = {"name": "by hand", "version": "0"}
        answer = await self.ask(
            "initialize", protocolVersion=version, capabilities={}, clientInfo=client
        )
        await self.notify("notifications/initialized")
        result: dict[str, Any] = answer["result"]
        return result

    async def close(self) -> int:
        """Close stdin and take in the rest of stdout; the exit code."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.output += await asyncio.wait_for(self.process.stdout.read(), _END_S)
        return await asyncio.wait_for(self.process.wait(), _END_S)

    async def _answer(self, wanted: int) -> dict[str, Any]:
        assert self.process.stdout is not None
        while wanted not in self._answers:
            line = await self.process.stdout.readline()
            assert line, "the server closed its stdout"
            self.output += line
            message = json.loads(line)
            if isinstance(message.get("id"), int):
                self._answers[message["id"]] = message
        return self._answers.pop(wanted)
