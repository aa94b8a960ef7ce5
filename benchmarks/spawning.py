"""A server is started -> `initialize` is answered, in turns with a bare server of the same SDK."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from statistics import median

from benchmarks.client import Client
from benchmarks.figure import Baseline, Figure
from benchmarks.place import CHECKOUT, Place, place, serve_command

BARE = [sys.executable, "-m", "benchmarks.bare_server"]
#: No worse than this many times the bare server.
_TIMES_BARE = 1.3
_TIMES = 16


def main() -> list[Figure]:
    """The figure, its bound taken from the bare server."""
    ours: list[float] = []
    bare: list[float] = []
    with place() as here:
        for command in (serve_command(here), BARE):
            _spawn_ms(command, here)  # what is read for the first time comes from the disk
        for _ in range(_TIMES):
            ours.append(_spawn_ms(serve_command(here), here))
            bare.append(_spawn_ms(BARE, here))
    return [
        Figure(
            what=f"server started → initialize answered ({median(ours) / median(bare):.2f} × bare)",
            unit="ms",
            samples=ours,
            p50_under=_TIMES_BARE * median(bare),
            baseline=Baseline("bare server", bare),
            note=f"The bound is {_TIMES_BARE} times the bare server's p50 of this run.",
        )
    ]


def _spawn_ms(command: Sequence[str], here: Place) -> float:
    with Client(command, here.env, CHECKOUT) as client:
        return (client.initialize().at_ns - client.spawned_ns) / 1e6
