"""`python -m loop`, in which the n-th change of the disk by a thread of the worker takes for ever.

    python stalling.py N FILE WORDS...

FILE appears when it has come to that. The event loop itself goes on, as on a disk that hangs.
"""

from __future__ import annotations

import os
import runpy
import sys
import threading
import time
from pathlib import Path
from typing import Any

_WRITING = os.O_WRONLY | os.O_RDWR


def main() -> None:
    """Counts the changes, then becomes `python -m loop WORDS...`."""
    left, told = int(sys.argv[1]), Path(sys.argv[2])

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal left
        if event == "open":
            changes = isinstance(arguments[2], int) and bool(arguments[2] & _WRITING)
        else:
            changes = event in ("os.rename", "os.remove")
        here = changes and "/.ai/" in str(arguments[0]) and ".lock" not in str(arguments[0])
        if here and threading.current_thread() is not threading.main_thread():
            left -= 1
            if left == 0:
                told.touch()
                time.sleep(60)

    sys.argv[:3] = ["loop"]
    sys.addaudithook(hook)
    runpy.run_module("loop", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
