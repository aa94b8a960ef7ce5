"""Measures the project's figures and prints them as one table.

    python -m benchmarks            all of them, within four minutes
    python -m benchmarks NAME...    only those: landing claiming starting hooks shift spawning
                                    idling wire long_queue submitting graph

Nothing fails for being slow: a bound that was missed is shown as missed.
"""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Sequence
from importlib import import_module

from rich.console import Console

from benchmarks.figure import Figure, notes_of, table_of

NAMES = (
    "landing", "claiming", "starting", "hooks", "shift", "spawning", "idling", "wire", "long_queue",
    "submitting", "graph",
)  # fmt: skip
#: Characters of a line where there is no terminal.
_WIDTH = 150


def main(words: Sequence[str]) -> int:
    """Runs the benchmarks of these names, or all; 2 for a name that is none."""
    unknown = [word for word in words if word not in NAMES]
    if unknown:
        print(f"no benchmark {unknown[0]}; there are: {' '.join(NAMES)}", file=sys.stderr)
        return 2
    if os.name == "nt":
        print("the benchmarks need named pipes: run them on Linux or macOS", file=sys.stderr)
        return 2
    console = Console() if sys.stdout.isatty() else Console(width=_WIDTH)
    begun_s = time.monotonic()
    figures: list[Figure] = []
    load = os.getloadavg()[0]
    for name in words or NAMES:
        with console.status(name):
            figures += import_module(f"benchmarks.{name}").main()
    console.print(table_of(figures))
    for number, note in enumerate(notes_of(figures), 1):
        console.print(f"[{number}] {note}", markup=False, highlight=False)
    console.print(
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, "
        f"Python {platform.python_version()}; load {load:.1f} before, {os.getloadavg()[0]:.1f} "
        f"after; {time.monotonic() - begun_s:.0f} s",
        highlight=False,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
