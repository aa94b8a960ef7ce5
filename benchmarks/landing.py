"""A result lands -> its long-poll is answered, in the worker's own process and in another one.

From the rename that makes the result visible to the answer's line at the client.
"""

from __future__ import annotations

from pathlib import Path

from benchmarks.client import Client, checked
from benchmarks.figure import Baseline, Figure
from benchmarks.folder_poll import FolderPoll
from benchmarks.place import CHECKOUT, Place, place, serve_command
from benchmarks.stamps import Stamps

_OWN = 120
_OTHER = 60


def main() -> list[Figure]:
    """Both figures, each with a 2 s poll of the same results."""
    with place() as here:
        stamps = Stamps(here.home / "stamps")
        command = serve_command(here, stamps=stamps.path)
        with Client(command, here.env, CHECKOUT) as owner:
            owner.initialize()
            own, own_poll = _measure(here, stamps, owner, owner, _OWN)
            with Client(serve_command(here), here.env, CHECKOUT) as other:
                other.initialize()
                others, other_poll = _measure(here, stamps, owner, other, _OTHER)
    return [
        Figure(
            what="result lands → long-poll answered, worker in the same process",
            unit="ms",
            samples=own,
            p50_under=5,
            p99_under=15,
            baseline=Baseline("2 s poll", own_poll),
        ),
        Figure(
            what="result lands → long-poll answered, in a second server's process",
            unit="ms",
            samples=others,
            baseline=Baseline("2 s poll", other_poll),
        ),
    ]


def _measure(
    here: Place, stamps: Stamps, owner: Client, asked: Client, times: int
) -> tuple[list[float], list[float]]:
    """Milliseconds from each landing to the answer of `asked`, and to the poll's next look."""
    answered: dict[str, int] = {}
    with FolderPoll(here.project.completed) as poll:
        for _ in range(times):
            here.builder.hold()
            queued = owner.call(
                "queue_task", instructions=[f"Look at it, {len(answered)}, {times}"]
            )
            task_id = str(queued.data["id"])
            here.builder.started_ns()
            waiting = asked.start("check_builder_status", task_id=task_id)
            asked.call("list_tasks", state="running")  # so the first look is behind it
            here.builder.release()
            answer = checked(waiting)
            if answer.data["state"] != "success":
                raise RuntimeError(f"the stand-in's task ended otherwise: {answer.data}")
            answered[here.project.task_file(Path(), task_id).name] = answer.at_ns
        landed = {name: stamps.first_ns(f"completed/{name}") for name in answered}
        late_ms = poll.late_ms(landed)
    return [(answered[name] - landed[name]) / 1e6 for name in landed], late_ms
