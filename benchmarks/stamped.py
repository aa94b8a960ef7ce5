"""`python -m loop`, with each rename of a task's file noted: its moment and its new name.

    python -m benchmarks.stamped FILE WORDS...

The interpreter's audit hook sees a rename just before it happens, so the program measured is the
one that is shipped. A line of FILE is `NANOSECONDS FOLDER/NAME`, such as `... completed/0042.json`.
"""

from __future__ import annotations

import os
import runpy
import sys
import time
from typing import Any


def main() -> None:
    """Opens the file of stamps, then becomes `python -m loop WORDS...`."""
    stamps = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def note(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "os.rename":
            at_ns = time.time_ns()
            parts = os.fspath(arguments[1]).rsplit(os.sep, 2)
            if parts[-2:-1] in (["completed"], ["running"]) and parts[-1].endswith(".json"):
                os.write(stamps, f"{at_ns} {parts[-2]}/{parts[-1]}\n".encode())

    sys.addaudithook(note)
    sys.argv[:2] = []
    sys.argv.insert(0, "loop")
    runpy.run_module("loop", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
