"""One run of a stand-in Builder, launched for real, for the tests of this folder."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from loop.builder import processes

PATIENCE_S = 10.0
LAUNCHER = Path(__file__).parents[2] / "loop" / "builder" / "launcher.py"
STAND_IN = Path(__file__).parent / "stand_in.py"
LIMITS = {"total_s": 20.0, "first_reply_s": 20.0, "silent_s": 20.0, "grace_s": 5.0}


def wait_until(condition: Callable[[], object]) -> None:
    """Wait for a condition that nothing announces."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "it did not come true in time"
        time.sleep(0.005)


class Run:
    """A run of one task in a folder of the test's own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.uuid = str(uuid.uuid4())
        self.log = folder / "logs" / "0042.log"
        self.exit = self.running("exit")
        self.go = folder / "go"
        self.pid = 0
        self.shim = 0
        for path in (self.log, self.exit):
            path.parent.mkdir(exist_ok=True)
        self.running("prompt").write_text("do it\n")
        self.running("json").write_text(json.dumps({"id": "42", "uuid": self.uuid}))
        self.argv_head = [sys.executable, "-I", "-S", str(STAND_IN)]
        self.environment = {"PATH": os.defpath, "LOOP_RUN": self.uuid}

    def running(self, suffix: str) -> Path:
        return self.folder / "running" / f"0042.{suffix}"

    def again(self) -> Run:
        """The next run of the same task, in the same folder and log."""
        return Run(self.folder)

    def prepare(self, *steps: str, **limits: float) -> list[str]:
        """Write the launch file; the command of the launcher."""
        launch = {
            "run": self.uuid,
            "task_id": "42",
            "number": 1,
            "argv": [*self.argv_head, *steps],
            "prompt": str(self.running("prompt")),
            "record": str(self.running("json")),
            "log": str(self.log),
            "err": str(self.folder / "logs" / "0042.err"),
            "exit": str(self.exit),
            "cancel": str(self.running("cancel")),
            "limits": LIMITS | limits,
        }
        self.running("launch").write_text(json.dumps(launch))
        return [sys.executable, "-I", "-S", str(LAUNCHER), str(self.running("launch"))]

    def launch(self, *steps: str, **limits: float) -> tuple[int, dict[str, Any]]:
        """Launch the stand-in; the launcher's exit code and answer."""
        done = subprocess.run(
            self.prepare(*steps, **limits),
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert done.stderr == b""
        answer = json.loads(done.stdout)
        self.note(answer)
        return done.returncode, answer

    def note(self, answer: dict[str, Any]) -> None:
        self.pid, self.shim = answer.get("pid", self.pid), answer.get("shim", self.shim)

    def start(self, *steps: str, **limits: float) -> None:
        code, answer = self.launch(*steps, **limits)
        assert (code, answer["state"]) == (0, "started")

    def end(self, *steps: str, **limits: float) -> dict[str, Any]:
        """Launch the stand-in and wait for its end; what the exit file says."""
        self.start(*steps, **limits)
        return self.wait_for_end()

    def wait_for_end(self) -> dict[str, Any]:
        """Wait as a worker does, for the lock of the log; what the exit file says."""
        waiter = threading.Thread(target=self._lock, daemon=True)
        waiter.start()
        waiter.join(PATIENCE_S)
        assert not waiter.is_alive(), "the lock of the log is still held"
        end: dict[str, Any] = json.loads(self.exit.read_text())
        assert end.pop("run") == self.uuid
        return end

    def _lock(self) -> None:
        with self.log.open("rb") as log:
            fcntl.flock(log, fcntl.LOCK_EX)

    def is_locked(self) -> bool:
        with self.log.open("rb") as log:
            try:
                fcntl.flock(log, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
            return False

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.read_text().splitlines() if line]

    def own_lines(self) -> list[dict[str, Any]]:
        return [line for line in self.lines() if line.get("run") == self.uuid]

    def wait_for_line(self, kind: str) -> None:
        wait_until(lambda: f'{{"type": "{kind}"' in self.log.read_text())

    def ask_to_end(self, request: str) -> None:
        self.running("cancel").write_text(request)

    def clean_up(self) -> None:
        for pid in (self.shim, self.pid):
            start = processes.start_ticks(pid) if pid else None
            command = processes.command_of(pid) if pid else ""
            if str(self.folder) in command:
                processes.signal_if_same(pid, start, processes.boot_id(), 9)
        for pid in processes.bearers(self.uuid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, 9)
