"""A project with tasks, and a session that is bound to its queue: a real process that only sleeps.

What Claude Code would call is called as it calls it: `loop` with the session in the environment,
`loop-hook` with its input on stdin.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from loop.actions.shift.begin import Begun, begin
from loop.actions.shift.report import done
from loop.actions.shift.settle import Answer, settle_stop
from loop.builder.permissions import approve
from loop.builder.processes import boot_id, start_ticks
from loop.builder.session import Process
from loop.core.task import Task
from loop.store import queue, timeline
from loop.store.paths import Project
from loop.store.scan import Located, locate
from loop.store.shift import Limits, at_hand, read_shift

CHECKOUT = Path(__file__).parents[1]
SESSION = "11111111-2222-4333-8444-555555555555"
OTHER = "99999999-2222-4333-8444-555555555555"
BOUND_S = 30


@dataclass(frozen=True)
class Said:
    """What a call gave."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> dict[str, Any]:
        """What a hook answered; empty when nothing."""
        found: dict[str, Any] = json.loads(self.out) if self.out else {}
        return found

    @property
    def block(self) -> str:
        """What the session is told to do; fails when the stop passed."""
        assert self.data["decision"] == "block", self
        return str(self.data["reason"])

    @property
    def over(self) -> str:
        """Why the shift is over; fails when it is not."""
        assert set(self.data) == {"systemMessage"}, self
        return str(self.data["systemMessage"])

    @property
    def passed(self) -> bool:
        """Nothing was said at all."""
        return (self.code, self.out, self.err) == (0, "", "")


@dataclass
class Bound:
    """The project and its session."""

    project: Project
    home: Path
    process: subprocess.Popen[bytes]
    session: str = SESSION

    @property
    def root(self) -> Path:
        return self.project.root

    def env(self, **more: str) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "XDG_STATE_HOME": str(self.home / "state"),
            "PYTHONPATH": str(CHECKOUT),
            "LANG": "C.UTF-8",
            "CLAUDE_CODE_SESSION_ID": self.session,
            "CLAUDE_PID": str(self.process.pid),
            "CLAUDECODE": "1",
        } | more

    def loop(self, *words: str, given: str = "", **env: str) -> Said:
        """A command, called by the session."""
        return self._call(["-m", "loop", *words], given.encode(), self.env(**env))

    def hook(self, event: str = "Stop", env: dict[str, str] | None = None, **fields: Any) -> Said:
        """An event of the session; `env` adds to its environment."""
        given = {
            "session_id": self.session,
            "transcript_path": str(self.home / "transcript.jsonl"),
            "cwd": str(self.root),
            "hook_event_name": event,
            "stop_hook_active": False,
            "last_assistant_message": "Done.",
            "background_tasks": [],
        } | fields
        data = json.dumps(given).encode()
        return self._call(["-m", "loop.hooks.entry", "shift"], data, self.env(**env or {}))

    def _call(self, words: list[str], data: bytes, env: dict[str, str]) -> Said:
        done = subprocess.run(
            [sys.executable, "-P", *words],
            input=data,
            cwd=self.root,
            env=env,
            capture_output=True,
            timeout=BOUND_S,
            check=False,
        )
        return Said(done.returncode, done.stdout.decode(), done.stderr.decode())

    def add(self, text: str, **fields: Any) -> str:
        """Queues a task; its id."""
        given = {"instructions": [text], **fields}
        return queue.submit(self.project, given, "architect", datetime.now(UTC)).task.id

    def at(self, task_id: str) -> Located:
        return locate(self.project, task_id, datetime.now(UTC))

    def state(self, task_id: str) -> str:
        return self.at(task_id).state

    def claim(self, *words: str) -> Said:
        return self.loop("next", "--claim", "--session", self.session, *words)

    @property
    def identity(self) -> Process:
        start = start_ticks(self.process.pid)
        assert start is not None
        return Process(self.process.pid, start, boot_id())

    def begins(self, **limits: Any) -> Begun | str:
        """The session takes a shift, within this process."""
        now = datetime.now(UTC)
        return begin(self.project, self.session, self.identity, Limits(**limits), now, wait_s=5)

    def stops(
        self,
        later: timedelta = timedelta(),
        guard: str | None = None,
        began_s: float | None = None,
    ) -> Answer:
        """A stop of the session, within this process; `guard` is what the guard refuses with."""
        now = datetime.now(UTC) + later
        transcript = str(self.home / "transcript.jsonl")
        return settle_stop(
            self.project,
            self.session,
            now,
            lambda task, config: guard,
            transcript,
            began_s=began_s,
        )

    @property
    def at_hand(self) -> Task:
        """The task that the session has."""
        shift = read_shift(self.project)
        assert shift is not None
        task = at_hand(self.project, shift, datetime.now(UTC))
        assert task is not None
        return task

    def reports(self, summary: str = "Did it.", **fields: Any) -> bool:
        """The session says that the task at hand is done; whether that was accepted."""
        now = datetime.now(UTC)
        given = {"notes": None, "no_change": False} | fields
        return done(self.project, self.at_hand, summary=summary, now=now, **given).accepted

    def events(self, name: str) -> list[dict[str, Any]]:
        """The timeline's events of one name."""
        return [e for e in timeline.last(self.project.timeline, 10_000) if e["event"] == name]

    def dies(self) -> None:
        """The session's process is killed."""
        self.process.kill()
        self.process.wait(BOUND_S)

    def git(self, *words: str) -> str:
        done = subprocess.run(
            ["git", *words],
            cwd=self.root,
            env=self.env(),
            capture_output=True,
            text=True,
            check=True,
            timeout=BOUND_S,
        )
        return done.stdout

    def configure(self, **settings: Any) -> None:
        self.project.config.write_text(json.dumps(settings))
        approve(self.project)


@contextmanager
def sleeper(at: Path | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """A process that stands for an interactive session, started in a folder."""
    process = subprocess.Popen(["sleep", "600"], cwd=at, stdin=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.kill()
        process.wait(BOUND_S)


@contextmanager
def bound_at(parent: Path, *, git: bool = True) -> Iterator[Bound]:
    """A project whose session is there, but not bound yet."""
    parent = parent.resolve()
    home = parent / "home"
    home.mkdir()
    project = Project(parent / "shop")
    for folder in project.folders():
        folder.mkdir(parents=True)
    project.builder_settings.write_text("{}\n")
    with sleeper(project.root) as process:
        made = Bound(project, home, process)
        if git:
            (made.root / ".gitignore").write_text(".ai/\n")
            (made.root / "a.txt").write_text("one\n")
            made.git("init", "-q", "--initial-branch=main")
            made.git("config", "user.name", "P")
            made.git("config", "user.email", "p@example.invalid")
            made.git("add", "-A")
            made.git("commit", "-qm", "first")
        yield made
