"""What a hook of ours costs a session of Claude Code, as a whole process.

With nothing to judge (any session that is no run of ours), and as the guard of a report in a
repository of 200 files: once refused for want of a README entry, once passed.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.figure import Baseline, Figure
from benchmarks.place import Place, place
from loop.errors import LoopError
from loop.git.command import repository_of
from loop.git.snapshot import ref_of, take

_TIMES = 60
_TIMES_WITH_GIT = 30
_RUN = "6f0a1d0e-0000-4000-8000-000000000001"
_REPORT = json.dumps(
    {
        "hook_event_name": "PreToolUse",
        "tool_name": "StructuredOutput",
        "tool_input": {"outcome": "done", "summary": "Changed three files."},
    }
).encode()


def main() -> list[Figure]:
    """All figures of hooks."""
    return [*_with_nothing_to_do(), *_guard()]


def _with_nothing_to_do() -> list[Figure]:
    script = Path(sys.executable).with_name("loop-hook")
    if not script.is_file():
        raise LoopError(f"{script} is missing: install the package into this environment first")
    commands = {
        "`loop-hook` with nothing to do": [str(script), "report"],
        "the same as `python -I -m loop.hooks.entry`": _as_module(),
        "bare": [sys.executable, "-c", "pass"],
    }
    with place() as here:
        took_ms: dict[str, list[float]] = {what: [] for what in commands}
        for _ in range(_TIMES):
            for what, command in commands.items():
                took_ms[what].append(_run_ms(command, here.env, here.project.root)[0])
    bare = Baseline("`python -c pass`", took_ms.pop("bare"))
    return [
        Figure(what=what, unit="ms", samples=samples, p50_under=30, baseline=bare)
        for what, samples in took_ms.items()
    ]


def _guard() -> list[Figure]:
    with place(git=True) as here:
        root = here.project.root
        _begin_run(here)
        env = here.env | {"LOOP_RUN": _RUN, "LOOP_TASK_ID": "1", "LOOP_PROJECT": str(root)}
        for number in range(3):
            (root / "part00" / f"new{number}.txt").write_text("new\n")
        status = ["git", "status", "--porcelain"]
        before = (root / "README.md").read_text()
        entry = "## Recent Changes\n\n- 2026-02-02: Portal opens faster.\n"
        refused, passed, bare = [], [], []
        for _ in range(_TIMES_WITH_GIT):
            bare.append(_run_ms(status, here.env, root)[0])
            (root / "README.md").write_text(before)
            refused.append(_judged_ms(env, root, refuses=True))
            here.project.run_file("1", "guard").unlink()
            (root / "README.md").write_text(before.replace("## Recent Changes\n", entry))
            passed.append(_judged_ms(env, root, refuses=False))
    baseline = Baseline("`git status`", bare)
    what = "guard, repository of 200 files, report"
    return [
        Figure(
            what=f"{what} refused", unit="ms", samples=refused, p50_under=150, baseline=baseline
        ),
        Figure(what=f"{what} passed", unit="ms", samples=passed, p50_under=150, baseline=baseline),
    ]


def _begin_run(here: Place) -> None:
    """What the worker writes when a run begins."""
    repository = repository_of(here.project.root)
    assert repository is not None
    taken = take(repository, ref_of(here.project.root, "1", 1, "before"), max_file_mb=10)
    run = {"uuid": _RUN, "number": 1, "before": taken.commit}
    record = here.project.task_file(here.project.running, "1")
    record.write_text(json.dumps({"id": "1", "runs": [run]}))


def _judged_ms(env: Mapping[str, str], root: Path, *, refuses: bool) -> float:
    took_ms, said = _run_ms(_as_module(), env, root, _REPORT)
    if (b'"deny"' in said) is not refuses:
        raise RuntimeError(f"the guard judged otherwise: {said!r}")
    return took_ms


def _as_module() -> list[str]:
    return [sys.executable, "-I", "-m", "loop.hooks.entry", "report"]


def _run_ms(
    command: Sequence[str], env: Mapping[str, str], cwd: Path, data: bytes = b""
) -> tuple[float, bytes]:
    """Milliseconds that a process takes from its start to its end, and what it said."""
    begun_ns = time.perf_counter_ns()
    done = subprocess.run(command, cwd=cwd, env=env, input=data, stdout=subprocess.PIPE, check=True)
    return (time.perf_counter_ns() - begun_ns) / 1e6, done.stdout
