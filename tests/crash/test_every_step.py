"""Killed at every step, started again: one result, one launch, one story."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from loop.builder.permissions import approved_file, asked_command
from loop.store.paths import Project
from loop.store.project_files import load_config

_HERE = Path(__file__).parent
#: More steps than any of the commands has; a number beyond the last kills nothing.
_ENOUGH = 80
_CHUNKS = 8
#: The steps of the short commands; the last one is beyond what they have.
_SUBMISSION, _CANCEL, _REQUEUE = range(1, 13), range(1, 10), range(1, 11)


@dataclass(frozen=True)
class Bench:
    """A project with a stand-in Builder, and the environment of its commands."""

    project: Project
    env: dict[str, str]
    launches_file: Path

    killer: subprocess.Popen[str]

    def loop(self, *arguments: str, step: int = 0, **more: str) -> int:
        """Runs a command to its end, or to its death before a step; its exit code."""
        self.begin(*arguments, step=step, **more)
        return self.ended()

    def begin(self, *arguments: str, step: int = 0, **more: str) -> None:
        """Starts a command; `ended` waits for it."""
        assert self.killer.stdin is not None
        order = {
            "step": step,
            "arguments": arguments,
            "cwd": str(self.project.root),
            "env": self.env,
            "output": str(self.launches_file.with_name("output")),
            **more,
        }
        self.killer.stdin.write(json.dumps(order) + "\n")
        self.killer.stdin.flush()

    def ended(self) -> int:
        """Waits for the command that was begun; its exit code."""
        assert self.killer.stdout is not None
        return int(self.killer.stdout.readline())

    def killed_at(self, step: int, *arguments: str) -> bool:
        """Runs a command that dies just before its step; False when it has fewer."""
        code = self.loop(*arguments, step=step)
        assert code in (0, -9), self.said()
        return code == -9

    def must(self, *arguments: str) -> None:
        """Runs a command that must not fail."""
        assert self.loop(*arguments) == 0, self.said()

    def said(self) -> str:
        """What the last command printed."""
        return self.launches_file.with_name("output").read_text()

    def launches(self) -> Counter[str]:
        """How often the stand-in was started, by task."""
        if not self.launches_file.exists():
            return Counter()
        return Counter(line.split()[0] for line in self.launches_file.read_text().splitlines())

    def events(self, task_id: str = "1") -> Counter[str]:
        """How often each event of a task stands in the timeline, each line of which is whole."""
        path = self.project.timeline
        lines = path.read_text().splitlines() if path.exists() else []
        events = [json.loads(line) for line in lines if line]
        return Counter(e["event"] for e in events if e.get("task_id") == task_id)

    def result(self, task_id: str = "1") -> dict[str, Any]:
        """The result of a task."""
        path = self.project.task_file(self.project.completed, task_id)
        result: dict[str, Any] = json.loads(path.read_text())
        return result

    def leftovers(self) -> list[str]:
        """What should be gone once all is settled."""
        folders = (self.project.queue, self.project.running, self.project.invalid)
        return [path.name for folder in folders for path in folder.iterdir()]


@pytest.fixture(scope="module")
def killer() -> Iterator[subprocess.Popen[str]]:
    """The process that runs commands in forks."""
    with subprocess.Popen(
        [sys.executable, str(_HERE / "killer.py")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        yield process
        assert process.stdin is not None
        process.stdin.close()


def make_bench(folder: Path, killer: subprocess.Popen[str]) -> Bench:
    """A project that is no git repository, set up by hand as `loop init` does."""
    root = folder / "project"
    root.mkdir(parents=True)
    project = Project(root.resolve())
    for place in project.folders():
        place.mkdir(parents=True, exist_ok=True)
    stand_in = _HERE / "stand_in.py"
    settings = {"builder": {"command": str(stand_in)}, "scan_seconds": 0.2}
    project.config.write_text(json.dumps(settings))
    launches = folder / "launches"
    env = {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.defpath}",
        "HOME": str(folder / "home"),
        "XDG_STATE_HOME": str(folder / "state"),
        "STAND_IN_LAUNCHES": str(launches),
    }
    project.builder_settings.write_text("{}")
    place = folder / "state" / approved_file(project).relative_to(approved_file(project).parents[2])
    place.parent.mkdir(parents=True)
    place.write_text("{}")
    asked = asked_command(load_config(project))
    assert asked is not None
    place.with_name("command.json").write_bytes(asked)
    return Bench(project, env, launches, killer)


def each_step(chunk: int) -> range:
    """The steps of one chunk; the chunks run beside each other."""
    return range(chunk + 1, _ENOUGH + 1, _CHUNKS)


@pytest.mark.parametrize("chunk", range(_CHUNKS))
def test_a_worker_killed_at_any_step_leaves_one_result_of_one_launch(
    tmp_path: Path, killer: subprocess.Popen[str], chunk: int
) -> None:
    for step in each_step(chunk):
        bench = make_bench(tmp_path / str(step), killer)
        bench.must("add", "Do it")
        killed = bench.killed_at(step, "work", "--drain")
        bench.must("work", "--drain")
        assert bench.result()["status"] == "success", step
        assert bench.launches() == {"1": 1}, step
        assert bench.leftovers() == [], step
        events = bench.events()
        assert (events["task_queued"], events["run_started"], events["run_completed"]) == (1, 1, 1)
        if not killed:
            break


@pytest.mark.parametrize("step", _SUBMISSION)
def test_a_submission_killed_at_any_step_happened_wholly_or_not_at_all(
    tmp_path: Path, killer: subprocess.Popen[str], step: int
) -> None:
    bench = make_bench(tmp_path, killer)
    killed = bench.killed_at(step, "add", "Do it", "--key", "k")
    assert not (killed and step == _SUBMISSION[-1]), "it has more steps than are tried"
    bench.must("add", "Do it", "--key", "k")
    bench.must("work", "--drain")
    (task_id,) = bench.launches()  # 2 when the counter had moved on before the crash
    assert bench.launches()[task_id] == 1
    assert bench.events(task_id)["task_queued"] == 1
    assert bench.leftovers() == []


@pytest.mark.parametrize("step", _CANCEL)
def test_a_cancel_killed_at_any_step_can_be_repeated(
    tmp_path: Path, killer: subprocess.Popen[str], step: int
) -> None:
    bench = make_bench(tmp_path, killer)
    bench.must("add", "Do it")
    killed = bench.killed_at(step, "cancel", "1")
    assert not (killed and step == _CANCEL[-1]), "it has more steps than are tried"
    bench.must("cancel", "1")
    bench.must("work", "--drain")
    assert bench.result()["reason"] == "cancelled"
    assert bench.launches() == {}
    assert bench.events()["task_cancelled"] == 1
    assert bench.leftovers() == []


@pytest.mark.parametrize("step", _REQUEUE)
def test_a_requeue_killed_at_any_step_runs_once_more_or_not_yet(
    tmp_path: Path, killer: subprocess.Popen[str], step: int
) -> None:
    bench = make_bench(tmp_path, killer)
    bench.must("add", "Do it")
    bench.must("cancel", "1")
    killed = bench.killed_at(step, "requeue", "1", "go on")
    assert not (killed and step == _REQUEUE[-1]), "it has more steps than are tried"
    bench.loop("requeue", "1", "go on")  # refused when it was requeued already
    bench.must("work", "--drain")
    assert bench.result()["status"] == "success"
    assert bench.launches() == {"1": 1}
    assert bench.events()["task_requeued"] == 1
    assert bench.leftovers() == []
