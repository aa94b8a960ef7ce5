"""A file is dropped by another process -> the task is claimed: its running file is there.

From the rename that puts the file into queue/ to the rename that puts the one into running/.
"""

from __future__ import annotations

import json
import random
import time

from benchmarks.client import Client, checked
from benchmarks.figure import Baseline, Figure
from benchmarks.folder_poll import FolderPoll
from benchmarks.place import CHECKOUT, place, serve_command
from benchmarks.stamps import Stamps

_TIMES = 60
_FIRST_ID = 1000


def main() -> list[Figure]:
    """The figure, with a 2 s poll of queue/ by which a file is seen that stays there."""
    dropped: dict[str, int] = {}
    watched: dict[str, int] = {}
    with place() as here:
        stamps = Stamps(here.home / "stamps")
        polled = here.home / "polled"
        polled.mkdir()
        with (
            Client(serve_command(here, stamps=stamps.path), here.env, CHECKOUT) as client,
            FolderPoll(polled) as poll,
        ):
            client.initialize()
            for task_id in range(_FIRST_ID, _FIRST_ID + _TIMES):
                # Not in step with the watch, which looks at fixed intervals.
                time.sleep(random.uniform(0.02, 0.06))
                name = f"{task_id}.json"
                written = here.project.root / f".{name}"
                written.write_text(json.dumps({"instructions": f"Look at it, {task_id}"}))
                target = here.project.queue / name
                dropped[name] = time.time_ns()
                written.rename(target)
                watched[name] = time.time_ns()
                (polled / name).touch()
                stamps.first_ns(f"running/{name}")
                checked(client.start("check_builder_status", task_id=str(task_id)))
            late_ms = poll.late_ms(watched)
            samples = [
                (stamps.first_ns(f"running/{name}") - ns) / 1e6 for name, ns in dropped.items()
            ]
    return [
        Figure(
            what="file dropped by another process → claimed",
            unit="ms",
            samples=samples,
            p50_under=25,
            baseline=Baseline("2 s poll", late_ms),
        )
    ]
