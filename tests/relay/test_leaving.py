"""The server is gone soon after it was told to go, whatever it was at."""

from __future__ import annotations

import fcntl
import signal
import sys
from pathlib import Path

import pytest

from tests.relay.shop import Shop, queue, until

#: Seconds; a client waits 2 s before it kills. More here only for a machine that is busy.
_GONE_S = 1.5 + 3.0
_STALLING = Path(__file__).parent / "stalling.py"


@pytest.mark.parametrize(("step", "by"), [(1, "eof"), (4, "term"), (7, "eof"), (10, "term"),
                                          (14, "eof"), (18, "term"), (21, "eof")])  # fmt: skip
def test_it_leaves_in_the_middle_of_any_step_and_the_next_one_finishes_it(
    shop: Shop, tmp_path: Path, step: int, by: str
) -> None:
    shop.run("add", "Do it")
    stalled = tmp_path / "stalled"
    command = [sys.executable, str(_STALLING), str(step), str(stalled), *shop.serve[3:]]
    with shop.server(command) as server:
        until(stalled.exists, "the worker hangs")
        process = server.process
        if by == "term":
            process.send_signal(signal.SIGTERM)
        else:
            server.close_stdin()
        process.wait(_GONE_S)
    shop.run("work", "--drain")
    assert shop.result("1")["status"] == "success"
    assert shop.launches() == ["1"]
    assert shop.count("1")["run_completed"] == 1


def test_on_shutdown_stop_does_not_keep_it_when_the_state_is_locked(shop: Shop) -> None:
    shop.configure(on_shutdown="stop")
    shop.hold()
    with shop.server() as server:
        queue(server, "Work on")
        shop.has_started()
        with shop.project.state_lock.open("r+b") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            server.process.send_signal(signal.SIGTERM)
            server.process.wait(_GONE_S)
    shop.release()
    shop.run("work", "--drain")
    assert shop.result("1")["status"] == "success"
