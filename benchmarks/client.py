"""A client of an MCP server over stdio that notes when each answer came and how long it was.

It speaks JSON-RPC lines and checks nothing, so that what is measured is the server: an answer's
moment is the one at which its line can be read at the client's end of the pipe.
"""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import psutil

_WAIT_S = 60.0
_LEAVE_S = 3.0


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer, as it came."""

    #: as of `time.time_ns`
    at_ns: int
    #: of the whole line
    size_bytes: int
    result: dict[str, Any]

    @property
    def data(self) -> dict[str, Any]:
        """The structured content of a tool's answer."""
        content: dict[str, Any] = self.result["structuredContent"]
        return content


class Client:
    """A server that was started, and the conversation with it."""

    def __init__(self, command: Sequence[str], env: Mapping[str, str], cwd: Path) -> None:
        self._waiting: dict[int, Future[Answer]] = {}
        self._last_id = 0
        #: just before the server was started, as of `time.time_ns`
        self.spawned_ns = time.time_ns()
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=env,
            cwd=cwd,
        )
        self._reader = threading.Thread(target=self._read, name="answers", daemon=True)
        self._reader.start()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        for end in (self._process.terminate, self._process.kill):
            try:
                self._process.wait(_LEAVE_S)
                break
            except subprocess.TimeoutExpired:
                end()
        self._process.wait()
        self._reader.join(_LEAVE_S)
        self._process.stdout.close()

    def close_stdin(self) -> None:
        """Says nothing more: for a server, the end."""
        assert self._process.stdin is not None
        self._process.stdin.close()

    @property
    def process(self) -> psutil.Process:
        """The server, to be looked at."""
        return psutil.Process(self._process.pid)

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            at_ns = time.time_ns()
            message = json.loads(line)
            future = self._waiting.pop(message.get("id", 0), None)
            if future is None:
                continue
            if "error" in message:
                future.set_exception(RuntimeError(f"the server answered {message['error']}"))
            else:
                future.set_result(Answer(at_ns, len(line), message["result"]))
        for future in self._waiting.values():
            future.set_exception(RuntimeError("the server ended"))

    def ask(self, method: str, params: dict[str, Any]) -> Future[Answer]:
        """Sends a request; its answer comes in the future."""
        self._last_id += 1
        future: Future[Answer] = Future()
        self._waiting[self._last_id] = future
        self._send({"id": self._last_id, "method": method, "params": params})
        return future

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        os.write(
            self._process.stdin.fileno(), json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"
        )

    def initialize(self) -> Answer:
        """Greets the server."""
        params = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "benchmarks", "version": "1"},
        }
        answer = self.ask("initialize", params).result(_WAIT_S)
        self._send({"method": "notifications/initialized"})
        return answer

    def start(self, tool: str, **arguments: Any) -> Future[Answer]:
        """Calls a tool without waiting for its answer."""
        return self.ask("tools/call", {"name": tool, "arguments": arguments})

    def call(self, tool: str, **arguments: Any) -> Answer:
        """Calls a tool.

        Raises:
            RuntimeError: the tool says that it failed.
        """
        return checked(self.start(tool, **arguments))


def checked(future: Future[Answer]) -> Answer:
    """The answer of a tool, which must not be an error.

    Raises:
        RuntimeError: it is one.
    """
    answer = future.result(_WAIT_S)
    if answer.result.get("isError"):
        raise RuntimeError(str(answer.result["content"]))
    return answer
