"""A project that was set up by `loop init`, with a stand-in Builder and real servers.

Owns: the folders, the environment, and the end of every process of the project. Every wait is
bounded. A test says what the Builder does by files (`stand_in.py`).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psutil

from benchmarks.client import Client
from loop.errors import LoopError
from loop.store.journal import transition
from loop.store.paths import Project
from loop.store.project_files import read_owner
from tests.ready import approve_all, make_project

#: Seconds: the longest wait for anything.
LIMIT_S = 20.0
_STAND_IN = Path(__file__).parent / "stand_in.py"


def until(true: Callable[[], object], what: str, limit_s: float = LIMIT_S) -> None:
    """Waits for something that only the disk or the system can tell."""
    deadline = time.monotonic() + limit_s
    while not true():
        assert time.monotonic() < deadline, f"not within {limit_s} s: {what}"
        time.sleep(0.02)


@dataclass(frozen=True)
class Shop:
    """A project and all that works on it."""

    project: Project
    #: what the stand-in reads and writes
    script: Path
    env: dict[str, str]

    @classmethod
    @contextmanager
    def at(cls, folder: Path) -> Iterator[Shop]:
        """A shop in a folder; what is left of it is ended with the block."""
        root, home, script = (folder.resolve() / name for name in ("project", "home", "script"))
        for place in (root, home, script):
            place.mkdir(parents=True)
        env = {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.defpath}",
            "HOME": str(home),
            "STAND_IN_FOLDER": str(script),
            "PYTHONPATH": str(Path(__file__).parents[2]),
        }
        shop = cls(Project(root), script, env)
        make_project(root, Path(sys.executable), env)
        shop.configure(builder={"command": str(_STAND_IN)}, scan_seconds=0.3)
        try:
            yield shop
        finally:
            shop.release()
            shop.end_processes()

    def elsewhere(self, root: Path) -> Shop:
        """The same person in another folder."""
        return replace(self, project=Project(root.resolve()))

    @property
    def root(self) -> Path:
        """The project's folder."""
        return self.project.root

    def configure(self, **settings: Any) -> None:
        """Sets keys of config.json."""
        path = self.project.config
        config = json.loads(path.read_text()) if path.exists() else {}
        for key, value in settings.items():
            config[key] = config.get(key, {}) | value if isinstance(value, dict) else value
        beside = path.with_name(".config.json")
        beside.write_text(json.dumps(config))
        beside.replace(path)
        if {"builder", "verify"} & settings.keys():  # what is executed counts when approved
            approve_all(self.project, self.env)

    def run(self, *words: str, code: int | None = 0) -> str:
        """Runs a command of `loop` in the project; what it printed. `code` None: any will do."""
        done = subprocess.run(
            [sys.executable, "-m", "loop", *words],
            cwd=self.root,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
        assert code in (None, done.returncode), done.stdout
        return done.stdout

    @property
    def serve(self) -> list[str]:
        """The command of a server."""
        return [sys.executable, "-m", "loop", "serve", "--project", str(self.root)]

    @contextmanager
    def server(self, command: Sequence[str] | None = None, **env: str) -> Iterator[Client]:
        """A server that has said hello; ended with the block."""
        with Client(command or self.serve, self.env | env, Path("/")) as client:
            client.initialize()
            yield client

    def owner(self) -> int | None:
        """The process that has runs executed."""
        owner = read_owner(self.project)
        return owner.pid if owner is not None else None

    def hold(self) -> None:
        """Has the Builder go on until `release`."""
        (self.script / "hold").touch()

    def release(self) -> None:
        """Lets the Builder end."""
        (self.script / "hold").unlink(missing_ok=True)

    def say(self, **fields: Any) -> None:
        """Has the Builder end with this result line; with none, as a success."""
        path = self.script / "say.json"
        if not fields:
            path.unlink(missing_ok=True)
            return
        beside = path.with_suffix(".tmp")
        beside.write_text(json.dumps({"type": "result", "subtype": "success"} | fields))
        beside.replace(path)

    def launches(self) -> list[str]:
        """The task of each start of the Builder, in order; no run was started twice."""
        path = self.script / "launches"
        lines = path.read_text().splitlines() if path.exists() else []
        assert len(lines) == len(set(lines)), lines
        return [line.split()[0] for line in lines]

    def has_started(self, times: int = 1) -> None:
        """Waits until the Builder was started so often."""
        until(lambda: len(self.launches()) >= times, f"{times} starts of the Builder")

    def result(self, task_id: str) -> dict[str, Any]:
        """The result of a task, once it is there."""
        path = self.project.task_file(self.project.completed, task_id)
        until(path.exists, f"task {task_id} has ended")
        result: dict[str, Any] = json.loads(path.read_text())
        return result

    def events(self) -> list[dict[str, Any]]:
        """The timeline, each line of which is whole."""
        with suppress(LoopError), transition(self.project):
            pass  # what a process that has left was about to write
        path = self.project.timeline
        lines = path.read_text().split("\n") if path.exists() else []
        return [json.loads(line) for line in lines if line]

    def count(self, task_id: str) -> Counter[str]:
        """How often each event of a task is told."""
        return Counter(e["event"] for e in self.events() if e.get("task_id") == task_id)

    def processes(self) -> list[psutil.Process]:
        """Everything alive that belongs to a run of this project."""
        found = []
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                if process.environ().get("LOOP_PROJECT") == str(self.root):
                    found.append(process)
        return found

    def end_processes(self) -> None:
        """Ends what the runs of this project left, by id."""
        for _ in range(5):
            alive = self.processes()
            if not alive:
                return
            for process in alive:
                with suppress(psutil.NoSuchProcess):
                    process.kill()
            psutil.wait_procs(alive, LIMIT_S)
        raise AssertionError(f"still alive: {alive}")

    def forget(self) -> None:
        """Removes `.ai` as `git clean -fdx` does."""
        while self.project.ai.exists():  # a server may be at work in it
            shutil.rmtree(self.project.ai, ignore_errors=True)


def status_of(client: Client, task_id: str | None = None, wait_s: float = 10) -> dict[str, Any]:
    """What check_builder_status answers."""
    asked = {} if task_id is None else {"task_id": task_id}
    return client.call("check_builder_status", **asked, wait_seconds=wait_s).data


def queue(client: Client, words: str, **fields: Any) -> str:
    """Queues a task; its id."""
    return str(client.call("queue_task", instructions=[words], **fields).data["id"])


def comes_to(client: Client, task_id: str, state: str) -> dict[str, Any]:
    """Asks until a task is in that state; the answer."""
    deadline = time.monotonic() + LIMIT_S
    while True:
        seen = status_of(client, task_id, 1)
        if seen["state"] == state:
            return seen
        assert time.monotonic() < deadline, seen
