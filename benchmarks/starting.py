"""`queue_task` is called -> Claude Code is started: without git, and in a repository of 200 files.

From the request's line at the client to the stand-in's first act.
"""

from __future__ import annotations

import os
import time
from statistics import median

from benchmarks.client import Client, checked
from benchmarks.figure import Baseline, Figure
from benchmarks.place import CHECKOUT, Place, place, serve_command

_TIMES = 50
_TIMES_WITH_GIT = 30


def main() -> list[Figure]:
    """Both figures, each with the stand-in started straight from this process."""
    samples, direct = _measure(_TIMES, git=False)
    with_git, direct_with_git = _measure(_TIMES_WITH_GIT, git=True)
    what = "queue_task called → claude started"
    straight = "claude started straight"
    return [
        Figure(
            what=f"{what}, git taken out",
            unit="ms",
            samples=samples,
            p50_under=60,
            baseline=Baseline(straight, direct),
            note=(
                "The project is no repository. A stand-in for Claude Code says that it runs; its "
                f"own start ({median(direct):.1f} ms, the baseline) is in the figure."
            ),
        ),
        Figure(
            what=f"{what}, snapshot of 200 files",
            unit="ms",
            samples=with_git,
            baseline=Baseline(straight, direct_with_git),
        ),
    ]


def _measure(times: int, *, git: bool) -> tuple[list[float], list[float]]:
    samples: list[float] = []
    direct: list[float] = []
    with place(git=git) as here, Client(serve_command(here), here.env, CHECKOUT) as client:
        client.initialize()
        client.call("list_tasks")
        for number in range(times):
            direct.append(_start_straight(here))
            asked_ns = time.time_ns()
            queued = client.start("queue_task", instructions=[f"Look at it, {number}"])
            samples.append((here.builder.started_ns() - asked_ns) / 1e6)
            task_id = checked(queued).data["id"]
            state = client.call("check_builder_status", task_id=task_id).data["state"]
            if state != "success":
                raise RuntimeError(f"the stand-in's task ended as {state}")
    return samples, direct


def _start_straight(here: Place) -> float:
    before_ns = time.time_ns()
    path = os.fspath(here.builder.path)
    out = (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)
    pid = os.posix_spawn(path, [path], here.env, file_actions=[out])
    late_ms = (here.builder.started_ns() - before_ns) / 1e6
    os.waitpid(pid, 0)
    return late_ms
