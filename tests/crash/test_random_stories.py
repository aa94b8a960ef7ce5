"""Several processes do anything at any time and die at any step: no task is lost or run twice."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from loop.core.task_id import id_of_file
from loop.store.journal import interrupted
from tests.crash.test_every_step import Bench, make_bench

_HERE = Path(__file__).parent
_PROCESSES = 3
_ROUNDS = 8
_SEEDS = 4
#: A process that does not die by itself at one of these steps comes to its end.
_DEADLY_STEPS = 45


@contextmanager
def killers() -> Iterator[list[subprocess.Popen[str]]]:
    """Processes that run commands in forks, beside each other."""
    with ExitStack() as stack:
        made = [
            stack.enter_context(
                subprocess.Popen(
                    [sys.executable, str(_HERE / "killer.py")],
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                )
            )
            for _ in range(_PROCESSES)
        ]  # fmt: skip
        yield made
        for killer in made:
            assert killer.stdin is not None
            killer.stdin.close()


def some_command(chance: random.Random, bench: Bench) -> tuple[str, ...]:
    """What a person, the Architect or a worker might do next."""
    task_id = chance.choice([*"123456", "20", "21"])
    kind = chance.choice(
        ["add", "add", "key", "drop", "edit", "cancel", "requeue", "pause", "resume"] + ["work"] * 5
    )
    match kind:
        case "add":
            return ("add", f"Do {chance.randint(1, 100)}")
        case "key":
            return ("add", "Do it under a key", "--key", chance.choice("kl"))
        case "drop":
            number = chance.randint(20, 22)
            content = json.dumps({"instructions": f"Dropped {number}"})
            path = bench.project.queue / f"{number:04d}.json"
            beside = path.with_name(f".{path.name}.dropped")
            beside.write_text(content)
            with suppress(FileExistsError):
                path.hardlink_to(beside)  # nobody drops a file over another one
            beside.unlink()
            return ("status",)
        case "edit":
            return ("edit", task_id, "--title", f"Title {chance.randint(1, 100)}")
        case "cancel":
            return ("cancel", task_id)
        case "requeue":
            return ("requeue", task_id, "Go on.")
        case "work":
            return ("work", "--drain")
        case _:
            return (kind,)


@pytest.mark.parametrize("seed", range(_SEEDS))
def test_no_story_loses_a_task_or_runs_it_twice(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    with killers() as processes:
        benches = [make_bench(tmp_path, processes[0])]
        first = benches[0]
        benches += [Bench(first.project, first.env, first.launches_file, k) for k in processes[1:]]
        for number in range(_ROUNDS):
            said = []
            for index, bench in enumerate(benches):
                step = chance.choice([0, chance.randint(1, _DEADLY_STEPS)])
                output = str(tmp_path / f"output{index}")
                words = some_command(chance, bench)
                bench.begin(*words, step=step, output=output)
                said.append((words, step))
            for index, bench in enumerate(benches):
                code = bench.ended()
                # 1: refused, since the task is not in the state for it.
                output = (tmp_path / f"output{index}").read_text()
                assert code in (0, 1, -9), (seed, number, said, output)
        first.loop("resume")
        first.must("work", "--drain")
        first.must("work", "--drain")
    check(first, seed)


def check(bench: Bench, seed: int) -> None:
    """What must hold when all has settled, whatever happened."""
    project = bench.project
    assert not interrupted(project), seed
    assert [p.name for f in (project.queue, project.running) for p in f.iterdir()] == [], seed
    results = {id_of_file(path.name): path for path in project.completed.iterdir()}
    assert None not in results, seed
    events = [json.loads(line) for line in project.timeline.read_text().splitlines() if line]
    of_task: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for event in events:
        if "task_id" in event:
            of_task[event["task_id"]].append(event)
    assert of_task.keys() == results.keys(), seed
    for task_id, path in results.items():
        told = of_task[str(task_id)]
        result = json.loads(path.read_text())
        check_story(told, result, f"seed {seed}, task {task_id}")
    launched = bench.launches_file.read_text().split() if bench.launches_file.exists() else []
    runs = Counter(launched[1::2])
    assert set(runs.values()) <= {1}, seed
    assert set(runs) <= {e["uuid"] for e in events if e["event"] == "run_started"}, seed


def check_story(told: list[dict[str, Any]], result: dict[str, Any], where: str) -> None:
    """One beginning, one end for each run, and nothing out of its turn."""
    names = Counter(event["event"] for event in told)
    assert names["task_queued"] == 1, where
    assert names["run_started"] == names["run_completed"], where
    state = None
    last_run = 0
    for event in told:
        match event["event"]:
            case "task_queued":
                assert state is None, where
                state = "queued"
            case "task_requeued":
                assert state == "settled", where
                state = "queued"
            case "task_edited":
                assert state == "queued", where
            case "run_started":
                assert state == "queued", where
                assert event["run"] > last_run, where
                last_run = event["run"]
                state = "running"
            case "run_completed":
                assert (state, event["run"]) == ("running", last_run), where
                state = "queued" if event.get("retry") else "settled"
            case "task_cancelled":
                assert state in ("queued", "running"), where
                state = "settled" if state == "queued" else state
    assert state == "settled", where
    numbers = [run["number"] for run in result["task"].get("runs", [])]
    assert numbers == sorted(set(numbers)), where
