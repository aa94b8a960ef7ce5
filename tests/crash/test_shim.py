"""The shim killed at every step: one result, no run started twice, nothing left running."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import uuid
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import psutil
import pytest

from loop.builder import launcher
from loop.builder.processes import boot_id, identity
from loop.core.task import Run, encode
from loop.store import queue
from loop.store.scan import locate
from tests.crash.test_every_step import Bench, killer, make_bench

__all__ = ["killer"]

NOW = datetime(2026, 7, 23, 10, 0, tzinfo=UTC)
#: More calls of the system than a shim makes.
_ENOUGH = 80
_CHUNKS = 8


def alive(bench: Bench) -> list[int]:
    """Pids of what bears the mark of this project's runs."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.environ().get("LOOP_PROJECT") == str(bench.project.root):
                found.append(process.pid)
    return found


def runs_of(bench: Bench) -> list[str]:
    """The run of each launch."""
    if not bench.launches_file.exists():
        return []
    return [line.split()[1] for line in bench.launches_file.read_text().splitlines()]


@pytest.mark.parametrize("chunk", range(_CHUNKS))
def test_a_shim_killed_at_any_step_leaves_one_result_and_nothing_running(
    tmp_path: Path, killer: subprocess.Popen[str], chunk: int
) -> None:
    for step in range(chunk + 1, _ENOUGH + 1, _CHUNKS):
        bench = make_bench(tmp_path / str(step), killer)
        marker = tmp_path / f"died-{step}"
        deadly = {
            "LAUNCHER_DIES": f"{step} {marker}",
            "LAUNCHER": str(launcher.__file__),
            "STAND_IN_LEAVES": "yes",
        }
        bench = replace(bench, env=bench.env | deadly)
        bench.must("add", "Do it")
        here = str(Path(__file__).with_name("deadly_launcher.py"))
        assert bench.loop("work", "--drain", launcher=here) == 0, bench.said()
        result, events = bench.result(), bench.events()
        assert result["status"] == "success", (step, result)
        assert len(runs_of(bench)) == len(set(runs_of(bench))), step
        assert events["run_started"] == events["run_completed"] == result["runs"] <= 2, step
        if bench.leftovers():  # what was half written is removed by whoever owns the queue next
            bench.must("work", "--drain")
        assert bench.leftovers() == [], step
        assert alive(bench) == [], step
        if not marker.exists():
            break
    else:
        pytest.fail("the shim makes more calls than are tried here")


def claimed(bench: Bench, shim: dict[str, object] | None, **files: str) -> str:
    """A task whose run was claimed by a worker that is dead; the run."""
    project = bench.project
    bench.must("add", "Do it")
    task = locate(project, "1", NOW).task
    run = Run(number=1, uuid=str(uuid.uuid4()), started=NOW)
    assert queue.claim(project, task.id, run, NOW) is not None
    launch = {"run": run.uuid, "log": str(project.log("1"))}
    project.run_file("1", "launch").write_bytes(encode(launch))
    if shim is not None:
        line = {"type": "loop", "run": run.uuid, "event": "started", "task_id": "1", "shim": shim}
        project.log("1").write_text(json.dumps(line, separators=(",", ":")) + "\n")
    for suffix, content in files.items():
        project.run_file("1", suffix).write_text(content)
    return run.uuid


def test_a_run_that_a_reboot_cut_off_is_judged_and_tried_once_more(
    tmp_path: Path, killer: subprocess.Popen[str]
) -> None:
    bench = make_bench(tmp_path, killer)
    # Pid and start fit a living process; only the boot is another one.
    another = identity(os.getpid()) | {"boot": boot_id()[::-1]}
    first = claimed(bench, another)
    bench.must("work", "--drain")
    runs = bench.result()["task"]["runs"]
    assert [run["reason"] for run in runs] == ["interrupted", "success"]
    assert runs[0]["uuid"] == first
    assert runs_of(bench) == [runs[1]["uuid"]]
    assert bench.events()["run_recovered"] == 1


def test_a_run_whose_log_is_gone_is_not_started_again_while_it_goes_on(
    tmp_path: Path, killer: subprocess.Popen[str]
) -> None:
    bench = make_bench(tmp_path, killer)
    run = claimed(bench, None)
    env = bench.env | {"LOOP_RUN": run, "LOOP_PROJECT": str(bench.project.root)}
    with subprocess.Popen(["sleep", "0.6"], env=env, stdin=subprocess.DEVNULL) as builder:
        bench.must("work", "--drain")
        assert builder.poll() == 0, "its end was waited for"
    runs = bench.result()["task"]["runs"]
    assert [r["reason"] for r in runs] == ["interrupted", "success"]
    assert runs_of(bench) == [runs[1]["uuid"]]


def test_what_a_dead_shim_wrote_last_into_the_log_is_how_the_run_ended(
    tmp_path: Path, killer: subprocess.Popen[str]
) -> None:
    bench = make_bench(tmp_path, killer)
    run = claimed(bench, identity(os.getpid()) | {"boot": "an earlier one"})
    line: dict[str, object] = {
        "type": "loop",
        "run": run,
        "event": "ended",
        "exit": None,
        "signal": 9,
    }
    line |= {"ended_by": "timeout", "error": None, "awake_s": 1.0, "swept": []}
    with bench.project.log("1").open("a") as log:
        log.write(json.dumps(line, separators=(",", ":")) + "\n")
    bench.must("work", "--drain")
    assert bench.result()["reason"] == "timeout"
    assert runs_of(bench) == []


def test_a_run_that_was_to_be_cancelled_when_all_died_is_cancelled(
    tmp_path: Path, killer: subprocess.Popen[str]
) -> None:
    bench = make_bench(tmp_path, killer)
    claimed(bench, identity(os.getpid()) | {"boot": "an earlier one"},
            cancel='{"reason":"cancelled"}')  # fmt: skip
    bench.must("work", "--drain")
    assert bench.result()["reason"] == "cancelled"
    assert runs_of(bench) == []
