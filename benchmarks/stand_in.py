"""A stand-in for Claude Code that costs next to nothing, so that what is ours can be seen.

It says through a pipe that it started, writes the stream of a success at once, and ends. A task
whose Builder shall go on is held: the stand-in then waits for `release`.
"""

from __future__ import annotations

import json
import os
import queue
import threading
import time
from pathlib import Path
from types import TracebackType

_WAIT_S = 30.0
_STREAM = (
    {"type": "system", "subtype": "init", "claude_code_version": "2.1.332"},
    {
        "type": "assistant",
        "message": {
            "id": "msg_1",
            "content": [{"type": "tool_use", "name": "Read", "input": {"file_path": "README.md"}}],
        },
    },
)
_RESULT = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "terminal_reason": "completed",
    "num_turns": 1,
    "total_cost_usd": 0.01,
    "result": "",
    "structured_output": {"outcome": "no_change_needed", "summary": "Nothing had to be changed."},
}


class StandIn:
    """An executable, and this process's end of the pipe through which it reports its start."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "claude"
        #: while this file is there, a started stand-in waits before it writes its result
        self._hold = folder / "hold"
        self._release = folder / "release"
        self._starts: queue.Queue[int] = queue.Queue()
        fifo = folder / "started"
        for path in (fifo, self._release):
            os.mkfifo(path)
        # Held open for writing as well: no end of file between two runs, no stand-in that waits.
        self._fd = os.open(fifo, os.O_RDWR)
        self._release_fd = os.open(self._release, os.O_RDWR)
        self.path.write_text(self._script(fifo))
        self.path.chmod(0o755)

    def _script(self, fifo: Path) -> str:
        stream = "\n".join(json.dumps(line) for line in _STREAM)
        return (
            "#!/bin/sh\n"
            f"echo >'{fifo}'\n"
            f"cat <<'END'\n{stream}\nEND\n"
            f"if [ -e '{self._hold}' ]; then read _ <'{self._release}'; fi\n"
            f"cat <<'END'\n{json.dumps(_RESULT)}\nEND\n"
        )

    def __enter__(self) -> StandIn:
        threading.Thread(target=self._listen, name="starts", daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.write(self._fd, b"end\n")
        os.close(self._release_fd)

    def _listen(self) -> None:
        while (data := os.read(self._fd, 4096)) != b"end\n":
            at_ns = time.time_ns()
            for _ in range(data.count(b"\n")):
                self._starts.put(at_ns)
        os.close(self._fd)

    def started_ns(self) -> int:
        """The moment of the next start that was not asked for yet, as of `time.time_ns`."""
        return self._starts.get(timeout=_WAIT_S)

    def forget_starts(self) -> None:
        """Drops the starts that nobody asked for."""
        while not self._starts.empty():
            self._starts.get_nowait()

    def hold(self) -> None:
        """Has stand-ins that start from now on wait for `release` before they end."""
        self._hold.touch()

    def release(self) -> None:
        """Lets the one that waits go on."""
        self._hold.unlink()
        os.write(self._release_fd, b"\n")
