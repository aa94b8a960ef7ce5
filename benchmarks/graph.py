"""A graph of 1,000 and 10,000 queued tasks: the next one, one more, and the context of a run.

Each task stands on up to three of the fifty before it. Each figure has the same on a small queue,
or the same done without what is kept, beside it in one run.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from statistics import median

from benchmarks.figure import Baseline, Figure
from benchmarks.place import CHECKOUT, Place, place
from loop.actions.context import write_compact_context
from loop.actions.survey import Survey
from loop.core import transition as rules
from loop.core.config import Config
from loop.core.graph import Graph
from loop.core.result import Result
from loop.core.task import Task, TaskFields, encode, task_dict
from loop.errors import BadInput
from loop.store import queue
from loop.store.dependencies import graph_of
from loop.store.scan import QueueScan, QueueView, locate

_SIZES = (1_000, 10_000)
_COLD_UNDER_MS = {1_000: 20, 10_000: 150}
_MANY = 10_000
_STARTS = 9
_TURNS = 100
_FRESH = 5
_TIMES = 60
_RUN = "6f0a1d0e-0000-4000-8000-000000000001"
_NOW = datetime.now(UTC)


def main() -> list[Figure]:
    """All figures of the graph."""
    found = [figure for size in _SIZES for figure in _next(size)]
    return [*found, *_adding(), _context()]


def _fill(here: Place, size: int) -> None:
    chance = random.Random(size)
    for number in range(1, size + 1):
        before = range(max(1, number - 50), number)
        needs = chance.sample(before, min(3, len(before)))
        words = f"Look at part {number} of the customer portal and make its tests pass."
        task = Task(
            id=str(number),
            instructions=[words],
            created_at=_NOW,
            author="architect",
            depends_on=[str(need) for need in sorted(needs)],
        )
        here.project.task_file(here.project.queue, task.id).write_bytes(encode(task_dict(task)))


def _next(size: int) -> list[Figure]:
    with place() as here, place() as small:
        _fill(small, 1)
        _fill(here, size)
        times = [(_command_ms(here), _command_ms(small), _read_ms(here)) for _ in range(_STARTS)]
        start_ms = median(bare for _, bare, _ in times)
        turns, fresh = _turns(here)
    return [
        Figure(
            what=f"{size:,} queued: `loop next`, above its start-up",
            unit="ms",
            samples=[whole - start_ms for whole, _, _ in times],
            p50_under=_COLD_UNDER_MS[size],
            baseline=Baseline("its files opened and read, no more", [r for _, _, r in times]),
            note=f"Its start-up, with one task queued: {start_ms:.0f} ms.",
        ),
        Figure(
            what=f"{size:,} queued: a task starts or ends → the next is known to the worker",
            unit="ms",
            samples=turns,
            p50_under=1,
            baseline=Baseline("a new graph each time", fresh),
            note="What the worker does with a look at the folder; the look itself is not in it.",
        ),
    ]


def _command_ms(here: Place) -> float:
    command = [sys.executable, "-m", "loop", "--project", os.fspath(here.project.root), "next"]
    return _ms(
        lambda: subprocess.run(
            command, env=here.env, cwd=CHECKOUT, stdout=subprocess.DEVNULL, check=True
        )
    )


def _read_ms(here: Place) -> float:
    return _ms(lambda: [path.read_bytes() for path in here.project.queue.iterdir()])


def _turns(here: Place) -> tuple[list[float], list[float]]:
    """Runs one task after the other; the time of each look of one who keeps a graph, and anew."""
    scan = QueueScan(here.project, lambda: _NOW)
    survey = Survey(here.project, scan)
    following = survey.look(scan.look(), _NOW)[0]
    turns = []

    def look() -> None:
        nonlocal following
        view = scan.look()
        begun_ns = time.perf_counter_ns()
        following = survey.look(view, _NOW)[0]
        turns.append((time.perf_counter_ns() - begun_ns) / 1e6)

    for _ in range(_TURNS):
        assert following is not None
        task = queue.claim(here.project, following.id, rules.new_run(following, _RUN, _NOW), _NOW)
        assert task is not None
        look()
        result = Result(
            task_id=task.id, status="success", summary="Done.", completed_at=_NOW, task={}
        )
        queue.settle(here.project, task, result, _NOW)
        look()
    return turns, [_ms(lambda: _anew(here, scan.look())) for _ in range(_FRESH)]


def _anew(here: Place, view: QueueView) -> None:
    graph = graph_of(here.project, view.tasks, _NOW)
    graph.ended_parents()
    graph.blocked()
    graph.next_ready()


def _adding() -> list[Figure]:
    """A task and a subtask that stand on others; both in turn with the same on a small graph."""
    took: dict[str, list[float]] = {"task": [], "subtask": [], "bare": []}
    with place() as here, place() as small:
        _fill(here, _MANY)
        _fill(small, 3)
        queue.submit(here.project, {"instructions": "The whole"}, "architect", _NOW)
        parent = str(_MANY + 1)
        for number in range(_TIMES):
            needs = [str(_MANY), str(_MANY // 2), str(number + 1)]
            took["task"].append(_add_ms(here, depends_on=needs))
            beside = [f"{parent}.{number}"] if number else []
            took["subtask"].append(_add_ms(here, parent=parent, depends_on=beside))
            took["bare"].append(_add_ms(small))
        ring = _ms(lambda: _edit_into_a_ring(here))
    bare = Baseline("on a graph of 3, on nothing", took["bare"])
    return [
        Figure(
            what=f"{_MANY:,} queued: a task on three of them is added, rings looked for, durable",
            unit="ms",
            samples=took["task"],
            p50_under=5,
            baseline=bare,
        ),
        Figure(
            what=f"{_MANY:,} queued: a subtask on the one before it is added, durable",
            unit="ms",
            samples=took["subtask"],
            p50_under=5,
            baseline=bare,
        ),
        Figure(
            what=f"{_MANY:,} queued: an edit that closes a ring from end to end is refused",
            unit="ms",
            samples=[ring],
            note="It reads the tasks on the way from the last to the first.",
        ),
    ]


def _add_ms(here: Place, **fields: object) -> float:
    given = {"instructions": f"Part {time.perf_counter_ns()}", **fields}
    return _ms(lambda: queue.submit(here.project, given, "architect", _NOW))


def _edit_into_a_ring(here: Place) -> None:
    with suppress(BadInput):
        changes = TaskFields(depends_on=[str(_MANY)])
        queue.edit(here.project, "1", changes, "architect", _NOW)


def _context() -> Figure:
    with place() as here:
        _fill(here, _MANY)
        queued = QueueScan(here.project, lambda: _NOW).look().tasks
        task = locate(here.project, str(_MANY), _NOW).task
        few = {i: queued[i] for i in (*task.depends_on, task.id)}
        took: list[float] = []
        bare: list[float] = []
        for tasks, times in ((queued, took), (few, bare)):
            graph = graph_of(here.project, tasks, _NOW)
            graph.blocked()
            times += [_ms(partial(_write_context, here, task, graph)) for _ in range(_TIMES)]
        size = (here.project.ai / "context.compact.json").stat().st_size
        assert size <= Config().context.max_bytes
    return Figure(
        what=f"{_MANY:,} queued: the compact context of one of them is written",
        unit="ms",
        samples=took,
        p50_under=20,
        baseline=Baseline("4 queued", bare),
        note=f"It never takes more than {Config().context.max_bytes:,} bytes.",
    )


def _write_context(here: Place, task: Task, graph: Graph) -> None:
    write_compact_context(here.project, task, Config(), _NOW, graph)


def _ms(call: Callable[[], object]) -> float:
    begun_ns = time.perf_counter_ns()
    call()
    return (time.perf_counter_ns() - begun_ns) / 1e6
