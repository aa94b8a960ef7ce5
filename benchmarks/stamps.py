"""Reading what `stamped` noted."""

from __future__ import annotations

import time
from collections.abc import Callable
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
        return self._wait_for(lambda noted: noted == name, name)

    def first_in_ns(self, folder: str) -> int:
        """When the first file got a name in a folder such as `running`; waits for it, bounded.

        Raises:
            TimeoutError: it did not happen.
        """
        return self._wait_for(lambda noted: noted.startswith(f"{folder}/"), folder)

    def _wait_for(self, fits: Callable[[str], bool], what: str) -> int:
        deadline = time.monotonic() + _WAIT_S
        while time.monotonic() < deadline:
            if self.path.exists():
                for line in self.path.read_text().splitlines():
                    at_ns, _, noted = line.partition(" ")
                    if fits(noted):
                        return int(at_ns)
            time.sleep(0.02)
        raise TimeoutError(f"{what} did not appear")
