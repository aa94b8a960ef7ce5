"""The baseline of what is told at once: somebody who looks into a folder every 2 s."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from types import TracebackType

EVERY_S = 2.0


class FolderPoll:
    """Looks every 2 s, on a thread of its own, and notes when it first saw each name."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._seen: dict[str, int] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="poll", daemon=True)

    def __enter__(self) -> FolderPoll:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._over.is_set():
            self._look()
            self._over.wait(EVERY_S)

    def _look(self) -> None:
        names = [path.name for path in self._folder.iterdir() if path.suffix == ".json"]
        at_ns = time.time_ns()
        for name in names:
            self._seen.setdefault(name, at_ns)

    def late_ms(self, happened_ns: dict[str, int]) -> list[float]:
        """How late it saw each name, given when that was there; one more look is waited for."""
        time.sleep(EVERY_S * 1.05)
        return [(self._seen[name] - ns) / 1e6 for name, ns in happened_ns.items()]
