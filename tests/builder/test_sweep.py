"""What a Builder leaves behind is ended and named, and nothing else is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator

import pytest

from loop.builder import processes
from tests.builder.launching import PATIENCE_S, Run, wait_until

Stranger = Callable[[dict[str, str]], "subprocess.Popen[bytes]"]


@pytest.fixture
def stranger() -> Iterator[Stranger]:
    """Start a process that is nobody's child but the test's."""
    started: list[subprocess.Popen[bytes]] = []

    def start(environment: dict[str, str]) -> subprocess.Popen[bytes]:
        program = "import time; print(flush=True); time.sleep(20)"
        process = subprocess.Popen(
            [sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE
        )
        started.append(process)
        assert process.stdout is not None
        process.stdout.readline()
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("kind", ["orphan", "bearer"])
def test_a_daemon_in_its_own_session_is_swept_and_named(run: Run, kind: str) -> None:
    pid_file = run.folder / "pid"
    end = run.end(f"{kind}:{pid_file}", "result", "exit:0")
    pid = int(pid_file.read_text())
    assert processes.start_ticks(pid) is None
    wait_until(lambda: processes.bearers(run.uuid) == [])  # the shim goes last
    assert [stray["pid"] for stray in end["swept"]] == [pid]
    assert end["swept"][0]["command"].startswith(sys.executable)
    assert len(end["swept"][0]["command"]) <= 200
    assert (end["exit"], end["ended_by"]) == (0, None)


def test_what_a_killed_builder_leaves_behind_is_swept(run: Run) -> None:
    pid_file = run.folder / "pid"
    end = run.end(f"orphan:{pid_file}", "kill:9")
    assert end["signal"] == signal.SIGKILL
    assert [stray["pid"] for stray in end["swept"]] == [int(pid_file.read_text())]


def test_many_strays_are_all_swept_and_twenty_of_them_named(run: Run) -> None:
    pid_files = [run.folder / f"pid{number}" for number in range(22)]
    end = run.end(*(f"orphan:{pid_file}" for pid_file in pid_files))
    pids = {int(pid_file.read_text()) for pid_file in pid_files}
    assert [pid for pid in pids if processes.start_ticks(pid) is not None] == []
    assert len(end["swept"]) == 20
    assert all(stray["pid"] in pids for stray in end["swept"])


def test_a_bearer_of_the_run_that_descends_from_nobody_is_swept(
    run: Run, stranger: Stranger
) -> None:
    process = stranger({"LOOP_RUN": run.uuid})
    end = run.end("exit:0")
    assert process.wait(PATIENCE_S) == -signal.SIGTERM
    assert [stray["pid"] for stray in end["swept"]] == [process.pid]


def test_a_process_of_another_run_is_left_alone(run: Run, stranger: Stranger) -> None:
    others = [
        stranger({"LOOP_RUN": str(uuid.uuid4())}),
        stranger({"LOOP_RUN": run.uuid + "0"}),
        stranger({"XLOOP_RUN": run.uuid}),
        stranger({}),
    ]
    assert run.end("exit:0")["swept"] == []
    assert [process.poll() for process in others] == [None] * 4


def test_a_launcher_of_the_same_run_is_not_swept(run: Run) -> None:
    run.start(f"wait:{run.go}", "exit:0")
    second = subprocess.Popen(run.prepare("exit:0"), env=run.environment, stdout=subprocess.DEVNULL)
    os.kill(second.pid, signal.SIGSTOP)
    run.go.write_text("go")
    assert run.wait_for_end()["swept"] == []
    os.kill(second.pid, signal.SIGCONT)
    assert second.wait(PATIENCE_S) == 3
