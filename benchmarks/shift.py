"""What the Stop hook costs the session of a shift: it settles a task and injects the next.

As a whole process, without guard, checkpoint and verify commands, in a queue of 10, 100 and 1,000
tasks. The settled task has a report on record, as `loop done` leaves it; the next one's text comes
out. Beside it the bare start of the interpreter, in the same run. A Stop hook of bash and jq that
does the same work was measured at 430, 460 and 600 ms for the three.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime

from benchmarks.figure import Baseline, Figure
from benchmarks.place import Place, place
from loop.actions.shift.begin import begin
from loop.actions.shift.report import done
from loop.builder.processes import boot_id, start_ticks
from loop.builder.session import Process
from loop.core.task import encode, task_dict, task_from
from loop.store.paths import Project
from loop.store.shift import Limits, at_hand, read_shift

_SIZES = (10, 100, 1000)
_TIMES = 25
_SESSION = "6f0a1d0e-0000-4000-8000-000000000002"


def main() -> list[Figure]:
    """One figure for each size of the queue."""
    return [_with_queue_of(size) for size in _SIZES]


def _with_queue_of(size: int) -> Figure:
    took_ms, bare_ms = [], []
    with place() as here:
        settings = {"checkpoint": {"mode": "off"}, "readme_guard": False}
        here.project.config.write_text(json.dumps(settings))
        _fill(here.project, size + _TIMES + 1)
        _bind(here.project)
        for _ in range(_TIMES):
            _report(here.project)
            bare_ms.append(_run_ms([sys.executable, "-c", "pass"], here, b"")[0])
            took_ms.append(_stop_ms(here))
    return Figure(
        what=f"Stop hook settles a task and injects the next, {size:,} tasks",
        unit="ms",
        samples=took_ms,
        p50_under=120,
        baseline=Baseline("`python -c pass`", bare_ms),
    )


def _fill(project: Project, size: int) -> None:
    now = datetime.now(UTC)
    for number in range(1, size + 1):
        fields = {"instructions": [f"Add the page number {number}"], "title": f"Page {number}"}
        task = task_from(fields, str(number), now)
        path = project.task_file(project.queue, task.id)
        path.write_bytes(encode(task_dict(task)))
    (project.state / "next_id").write_text(str(size + 1))


def _bind(project: Project) -> None:
    start = start_ticks(os.getpid())
    assert start is not None
    me = Process(os.getpid(), start, boot_id())
    begin(project, _SESSION, me, Limits(), datetime.now(UTC))


def _report(project: Project) -> None:
    shift, now = read_shift(project), datetime.now(UTC)
    assert shift is not None
    task = at_hand(project, shift, now)
    assert task is not None
    done(project, task, summary="Added it.", notes=None, no_change=False, now=now)


def _stop_ms(here: Place) -> float:
    given = {
        "session_id": _SESSION,
        "hook_event_name": "Stop",
        "cwd": os.fspath(here.project.root),
        "stop_hook_active": True,
        "background_tasks": [],
        "last_assistant_message": "Done.",
    }
    command = [sys.executable, "-I", "-m", "loop.hooks.entry", "shift"]
    took_ms, said = _run_ms(command, here, json.dumps(given).encode())
    if json.loads(said or b"{}").get("decision") != "block":
        raise RuntimeError(f"the hook injected nothing: {said!r}")
    return took_ms


def _run_ms(command: Sequence[str], here: Place, data: bytes) -> tuple[float, bytes]:
    """Milliseconds that a process takes from its start to its end, and what it said."""
    env = here.env | {"CLAUDE_CODE_SESSION_ID": _SESSION}
    begun_ns = time.perf_counter_ns()
    done = subprocess.run(
        command, cwd=here.project.root, env=env, input=data, stdout=subprocess.PIPE, check=True
    )
    return (time.perf_counter_ns() - begun_ns) / 1e6, done.stdout
