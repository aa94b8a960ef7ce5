"""What a server costs that has nothing to do. A bare server of the same SDK idles beside it."""

from __future__ import annotations

import time

import psutil

from benchmarks.client import Client
from benchmarks.figure import Baseline, Figure
from benchmarks.place import CHECKOUT, place, serve_command
from benchmarks.spawning import BARE

_WINDOW_S = 10.0
#: Until everything that belongs to the start is over.
_CALM_S = 2.0


def main() -> list[Figure]:
    """Processor time a second over one window, and resident memory at its end."""
    with (
        place() as here,
        Client(serve_command(here), here.env, CHECKOUT) as ours,
        Client(BARE, here.env, CHECKOUT) as bare,
    ):
        for client in (ours, bare):
            client.initialize()
            client.ask("tools/list", {}).result(10)
        time.sleep(_CALM_S)
        processes = (ours.process, bare.process)
        begun = [_cpu_ms(process) for process in processes]
        begun_s = time.monotonic()
        time.sleep(_WINDOW_S)
        span_s = time.monotonic() - begun_s
        ended = [_cpu_ms(process) for process in processes]
        rss_mib = [process.memory_info().rss / 2**20 for process in processes]
        cpu = [(after - before) / span_s for before, after in zip(begun, ended, strict=True)]
    return [
        Figure(
            what="idle server, processor time",
            unit="ms/s",
            samples=[cpu[0]],
            baseline=Baseline("bare server", [cpu[1]]),
            note=f"Over {_WINDOW_S:g} s; the system counts in steps of 10 ms, so of 1 ms/s here.",
        ),
        Figure(
            what="idle server, resident memory",
            unit="MiB",
            samples=[rss_mib[0]],
            p50_under=80,
            baseline=Baseline("bare server", [rss_mib[1]]),
        ),
    ]


def _cpu_ms(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system) * 1000
