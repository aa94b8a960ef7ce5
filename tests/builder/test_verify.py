"""Checks as real processes: bounded, swept, ended when nobody wants them any more."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from loop.builder.processes import bearers
from loop.builder.verify import end_bearers, run_checks

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="commands of a POSIX shell")
ENV = {"PATH": os.environ["PATH"]}


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_it_stops_at_the_first_that_fails_and_keeps_the_end_of_the_output(tmp_path: Path) -> None:
    commands = ["echo fine", "seq 1 5000; echo grüße >&2; exit 3", "touch never"]
    first, second = run_checks(commands, tmp_path, ENV, "r", 30)
    assert (first.passed, first.tail) == (True, "fine")
    assert (second.passed, second.exit) == (False, 3)
    assert second.tail.endswith("4999\n5000\ngrüße")
    assert len(second.tail.encode()) <= 4096
    assert not (tmp_path / "never").exists()


def test_the_end_of_the_output_begins_with_a_whole_line(tmp_path: Path) -> None:
    # Else half a secret would stand there, which nobody could tell for one.
    lines = "ghp_" + "aB3x" * 9 + "\n" + "y" * 4075 + "\n"
    (tmp_path / "lines").write_text(lines)
    (checked,) = run_checks(["cat lines"], tmp_path, ENV, "r", 30)
    assert checked.tail == "y" * 4075


def test_a_command_reads_nothing_and_knows_its_run(tmp_path: Path) -> None:
    (checked,) = run_checks(['cat; echo "$LOOP_RUN $PWD"'], tmp_path, ENV, "r-1", 30)
    assert checked.tail == f"r-1 {tmp_path.resolve()}"


def test_a_command_that_is_not_there_fails(tmp_path: Path) -> None:
    (checked,) = run_checks(["no-such-command-here"], tmp_path, ENV, "r", 30)
    assert checked.exit == 127
    assert "not found" in checked.tail


ENDLESS = """
import os, time
os.write(1, b"x" * 3_000_000)
while os.fstat(1).st_size >= 3_000_000:
    time.sleep(0.01)
print("end", flush=True)
"""


def test_a_command_that_prints_without_end_fills_no_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("loop.builder.verify._MOST_OUTPUT_BYTES", 1_000_000)
    command = shlex.join([sys.executable, "-c", ENDLESS])
    (checked,) = run_checks([command], tmp_path, ENV, "r", 10)
    assert checked.passed
    assert checked.tail.endswith("xxxend")


STRAYS = "sleep 300 & (setsid sleep 300 &) ; (setsid sh -c 'trap \"\" TERM INT; sleep 300' &) ;"


def test_what_a_command_leaves_behind_is_ended_in_whatever_session_it_hides(
    tmp_path: Path,
) -> None:
    run = str(uuid.uuid4())
    (checked,) = run_checks([STRAYS + "echo ok"], tmp_path, ENV, run, 30)
    assert (checked.exit, checked.tail) == (0, "ok")
    assert bearers(run) == []


def test_a_command_that_takes_too_long_is_ended_with_all_it_started(tmp_path: Path) -> None:
    run = str(uuid.uuid4())
    (checked,) = run_checks([STRAYS + "echo began; sleep 300"], tmp_path, ENV, run, 0.5)
    assert (checked.exit, checked.stopped, checked.tail) == (None, False, "began")
    assert bearers(run) == []


def test_a_command_that_is_no_longer_wanted_is_ended(tmp_path: Path) -> None:
    run = str(uuid.uuid4())
    began = tmp_path / "began"
    (checked,) = run_checks(
        [STRAYS + "touch began; sleep 300", "touch never"], tmp_path, ENV, run, 60, began.exists
    )
    assert (checked.exit, checked.stopped) == (None, True)
    assert bearers(run) == []
    assert not (tmp_path / "never").exists()


def test_processes_that_multiply_are_ended(tmp_path: Path) -> None:
    run = str(uuid.uuid4())
    script = tmp_path / "multiply.sh"
    script.write_text('sleep 0.05\n[ "$1" -gt 0 ] && sh "$0" $(($1 - 1)) & sleep 300\n')
    run_checks([f"(setsid sh {script} 200 &); sleep 0.2"], tmp_path, ENV, run, 30)
    until(lambda: bearers(run) == [])


def test_only_those_of_the_run_are_ended(tmp_path: Path) -> None:
    other = str(uuid.uuid4())
    with subprocess.Popen(["sleep", "300"], env=ENV | {"LOOP_RUN": other}) as process:
        until(lambda: bearers(other) == [process.pid])
        end_bearers(str(uuid.uuid4()))
        assert process.poll() is None
        end_bearers(other)
        assert process.wait(10) == -9
