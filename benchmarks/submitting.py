"""A task is submitted, durably: the whole transition, beside one bare write, fsync and rename.

Both in turn in the same folder, so that they meet the same disk.
"""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.figure import Baseline, Figure
from benchmarks.place import place
from loop.store import queue

_TIMES = 400
#: A submission may take so many times as long as the bare write.
_MOST = 4


def main() -> list[Figure]:
    """The figure, whose bound is four times the baseline."""
    samples, bare = [], []
    with place() as here:
        for number in range(_TIMES):
            words = f"Look at part {number} of the customer portal and make its tests pass."
            begun_ns = time.perf_counter_ns()
            queue.submit(here.project, {"instructions": [words]}, "architect", datetime.now(UTC))
            between_ns = time.perf_counter_ns()
            _write(here.home / f"{number}.json", words.encode() * 6)
            samples.append((between_ns - begun_ns) / 1e6)
            bare.append((time.perf_counter_ns() - between_ns) / 1e6)
    figure = Figure(
        what="submit, durable",
        unit="ms",
        samples=samples,
        baseline=Baseline("write + fsync + rename", bare),
    )
    bound = _MOST * Figure(what="", unit="ms", samples=bare).p50
    return [
        Figure(
            what=figure.what, unit="ms", samples=samples, p50_under=bound,
            baseline=figure.baseline,
        )
    ]  # fmt: skip


def _write(path: Path, data: bytes) -> None:
    temporary = path.with_suffix(".tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT, 0o600)
    os.write(descriptor, data)
    os.fsync(descriptor)
    os.close(descriptor)
    temporary.rename(path)
