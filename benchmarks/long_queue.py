"""A queue of 10,000 waiting tasks and 10,000 results: start-up, `loop status`, an unchanged answer.

Start-up is from the spawn of the server to the rename that puts the first task into running/.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from datetime import UTC, datetime

from benchmarks.client import Client
from benchmarks.figure import Baseline, Figure
from benchmarks.place import CHECKOUT, Place, place, serve_command
from benchmarks.stamps import Stamps
from loop.core.event import RunCompleted, TaskQueued, event_line
from loop.core.result import Result, result_dict, with_task
from loop.core.task import Task, encode, task_dict

_MANY = 10_000
_STARTS = 3
_STATUSES = 7
_ANSWERS = 100


def main() -> list[Figure]:
    """The three figures, each with the same on an empty queue."""
    started, status, unchanged = _measure(0)
    started_long, status_long, unchanged_long = _measure(_MANY)
    with_queue = f"{_MANY:,} waiting, {_MANY:,} results"
    return [
        Figure(
            what=f"{with_queue}: server spawned → first task claimed",
            unit="ms",
            samples=started_long,
            p50_under=1000,
            baseline=Baseline("one task waiting", started),
        ),
        Figure(
            what=f"{with_queue}: `loop status`",
            unit="ms",
            samples=status_long,
            p50_under=500,
            baseline=Baseline("an empty queue", status),
        ),
        Figure(
            what=f"{with_queue}: check_builder_status, nothing new",
            unit="ms",
            samples=unchanged_long,
            p50_under=20,
            baseline=Baseline("an empty queue", unchanged),
        ),
    ]


def _measure(many: int) -> tuple[list[float], list[float], list[float]]:
    """Milliseconds: starts, statuses, answers, with that many tasks of each kind."""
    with place() as here:
        fill(here, waiting=many or _STARTS, settled=many)
        started = [_start(here, number) for number in range(_STARTS)]
        status = [_status(here) for _ in range(_STATUSES)]
        with Client(serve_command(here), here.env, CHECKOUT) as client:
            client.initialize()
            client.call("check_builder_status", wait_seconds=0)
            unchanged = [_ask(client) for _ in range(_ANSWERS)]
    return started, status, unchanged


def fill(here: Place, *, waiting: int, settled: int) -> None:
    """Puts tasks and results into the folders, and their story into the timeline."""
    project, now = here.project, datetime.now(UTC)
    lines = []
    for number in range(1, waiting + settled + 1):
        words = [f"Look at part {number} of the customer portal and make its tests pass."]
        task = Task(id=str(number), instructions=words, created_at=now, author="architect")
        lines.append(
            event_line(TaskQueued(ts=now, actor="architect", task_id=task.id, instructions=words))
        )
        if number > settled:
            project.task_file(project.queue, task.id).write_bytes(encode(task_dict(task)))
            continue
        result = Result(
            task_id=task.id, status="success", reason="success", summary="Done.",
            completed_at=now, task={},
        )  # fmt: skip
        data = encode(result_dict(with_task(result, task)))
        project.task_file(project.completed, task.id).write_bytes(data)
        lines.append(
            event_line(
                RunCompleted(
                    ts=now, actor="builder", task_id=task.id, run=1, status="success",
                    reason="success", commit_hash=None, cost_usd=0.1,
                )
            )
        )  # fmt: skip
    project.timeline.write_bytes(b"".join(lines))


def _start(here: Place, number: int) -> float:
    stamps = Stamps(here.home / f"stamps{number}")
    here.builder.hold()
    here.project.paused.unlink(missing_ok=True)
    with Client(serve_command(here, stamps=stamps.path), here.env, CHECKOUT) as client:
        client.initialize()
        claimed_ns = stamps.first_in_ns("running")
        client.call("pause_queue")
        here.builder.started_ns()
        here.builder.release()
        while client.call("list_tasks", state="running", limit=1).data["tasks"]:
            time.sleep(0.05)
    return (claimed_ns - client.spawned_ns) / 1e6


def _status(here: Place) -> float:
    command = [sys.executable, "-m", "loop", "--project", os.fspath(here.project.root), "status"]
    before_ns = time.perf_counter_ns()
    subprocess.run(command, env=here.env, cwd=CHECKOUT, stdout=subprocess.DEVNULL, check=True)
    return (time.perf_counter_ns() - before_ns) / 1e6


def _ask(client: Client) -> float:
    asked_ns = time.time_ns()
    return (client.call("check_builder_status", wait_seconds=0).at_ns - asked_ns) / 1e6
