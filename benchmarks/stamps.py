"""Reading what `stamped` noted."""

from __future__ import annotations

import time
from pathlib import Path

_WAIT_S = 30.0


class Stamps:
    """The renames of a server, as they are noted."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def first_ns(self, name: str) -> int:
        """When the first file got a name such as `completed/0042.json`; waits for it, bounded.

        Raises:
            TimeoutError: it did not happen.
        """
        deadline = time.monotonic() + _WAIT_S
        while time.monotonic() < deadline:
            if self.path.exists():
                for line in self.path.read_text().splitlines():
                    at_ns, _, noted = line.partition(" ")
                    if noted == name:
                        return int(at_ns)
            time.sleep(0.02)
        raise TimeoutError(f"{name} did not appear")
