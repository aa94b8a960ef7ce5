"""Many tasks through real servers that are killed again and again: nothing lost, nothing twice.

    python -m benchmarks.soak           200 tasks, under five minutes
    python -m benchmarks.soak TASKS

Two servers are up at any time. Every few seconds a third is started and one of the others gets a
SIGKILL. Tasks are submitted with a key, and again when the server dies before its answer, as the
Architect does it. The Builder is a stand-in that notes its start.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.client import Client
from benchmarks.place import CHECKOUT, Place, place, serve_command
from loop.store.scan import count_files

_TASKS = 200
_LIMIT_S = 290.0
_ANSWER_S = 20.0
_STORY = {"task_queued": 1, "run_started": 1, "run_completed": 1}

_STREAM = (
    {"type": "system", "subtype": "init"},
    {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "terminal_reason": "completed",
        "num_turns": 1,
        "total_cost_usd": 0.01,
        "structured_output": {"outcome": "no_change_needed", "summary": "Nothing to do."},
    },
)


@dataclass
class Soak:
    """What happened."""

    tasks: int
    kills: int = 0
    seconds: float = 0.0
    launches: list[str] = field(default_factory=list)
    statuses: Counter[str] = field(default_factory=Counter)
    #: what should not be, in words
    faults: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        good = f"{self.statuses['success']} results, {len(self.launches)} launches"
        bad = "; ".join(self.faults) or "nothing lost, nothing twice, no invalid line"
        return (
            f"{self.tasks} tasks, {self.kills} servers killed, {self.seconds:.0f} s: {good}: {bad}"
        )


class _Servers:
    """Two servers that are always up."""

    def __init__(self, here: Place, stack: ExitStack, chance: random.Random) -> None:
        self._here = here
        self._stack = stack
        self._chance = chance
        self.up = [self._start(), self._start()]

    def _start(self) -> Client:
        client = Client(serve_command(self._here), self._here.env, CHECKOUT)
        self._stack.push(client)
        client.initialize()
        return client

    def kill_one(self) -> None:
        """Kills one of them, once another is up in its place."""
        fresh = self._start()
        dying = self._chance.randrange(2)
        old, self.up[dying] = self.up[dying], fresh
        old.process.send_signal(signal.SIGKILL)

    def call(self, tool: str, **arguments: Any) -> dict[str, Any] | None:
        """The answer of one of them; None when it died before it answered."""
        try:
            answer = self._chance.choice(self.up).start(tool, **arguments).result(_ANSWER_S)
        except (RuntimeError, OSError, TimeoutError):
            return None
        return None if answer.result.get("isError") else answer.data


def soak(tasks: int, *, every_s: float = 3.0, seed: int | None = None) -> Soak:
    """Runs so many tasks; a server is killed every `every_s` seconds, more or less."""
    found = Soak(tasks)
    chance = random.Random(seed)
    begun_s = time.monotonic()
    with place() as here, ExitStack() as stack:
        launches = here.home / "launches"
        _write_builder(here, launches)
        servers = _Servers(here, stack, chance)
        submitted = 0
        kill_at_s = time.monotonic() + every_s
        while submitted < tasks or count_files(here.project.completed) < tasks:
            if time.monotonic() > begun_s + _LIMIT_S:
                found.faults.append(f"not done within {_LIMIT_S:.0f} s")
                break
            if time.monotonic() > kill_at_s:
                servers.kill_one()
                found.kills += 1
                kill_at_s = time.monotonic() + every_s * chance.uniform(0.5, 1.5)
            if submitted < tasks:
                key, words = f"key-{submitted}", [f"Look at part {submitted}."]
                submitted += servers.call("queue_task", instructions=words, key=key) is not None
            else:
                servers.call("check_builder_status", wait_seconds=0.5)
        _examine(here, launches, found)
    found.seconds = time.monotonic() - begun_s
    return found


def _write_builder(here: Place, launches: Path) -> None:
    stream = "\n".join(json.dumps(line) for line in _STREAM)
    path = here.home / "builder"
    path.write_text(
        "#!/bin/sh\n"
        f'echo "$LOOP_TASK_ID $LOOP_RUN" >>"{launches}"\n'
        f"cat >{os.devnull}\nsleep 0.05\ncat <<'END'\n{stream}\nEND\n"
    )
    path.chmod(0o755)
    here.project.config.write_text(json.dumps({"builder": {"command": os.fspath(path)}}))
    here.approve()


def _examine(here: Place, launches: Path, found: Soak) -> None:
    project = here.project
    with suppress(FileNotFoundError):
        found.launches = launches.read_text().splitlines()
    for path in project.completed.glob("*.json"):
        found.statuses[json.loads(path.read_text())["status"]] += 1
    if found.statuses != {"success": found.tasks}:
        found.faults.append(f"results: {dict(found.statuses)}")
    if len(found.launches) != found.tasks or len(set(found.launches)) != found.tasks:
        found.faults.append(f"launches: {len(found.launches)}, of {len(set(found.launches))} runs")
    _examine_timeline(here, found)
    left = [p.name for f in (project.queue, project.running, project.invalid) for p in f.iterdir()]
    if left:
        found.faults.append(f"left behind: {', '.join(left)}")


def _examine_timeline(here: Place, found: Soak) -> None:
    stories: dict[str, Counter[str]] = {}
    for line in here.project.timeline.read_bytes().split(b"\n"):
        if not line:
            continue
        try:
            event = json.loads(line)
        except ValueError:
            found.faults.append(f"an invalid line: {line[:80]!r}")
            continue
        if event["event"] in _STORY:
            stories.setdefault(event["task_id"], Counter())[event["event"]] += 1
    odd = [task_id for task_id, story in stories.items() if story != _STORY]
    if odd or len(stories) != found.tasks:
        found.faults.append(f"{len(stories)} stories, not as they should be: {odd[:10]}")


def main(words: Sequence[str]) -> int:
    """Soaks and says what came of it; 1 when something was lost or done twice."""
    found = soak(int(words[0]) if words else _TASKS)
    print(found)
    return 1 if found.faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
