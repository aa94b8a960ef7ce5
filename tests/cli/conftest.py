"""What the tests of the command line share: a project, tasks in it, and ways to call `loop`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from loop.__main__ import main
from loop.core.result import Result, Status
from loop.core.task import Task
from loop.core.transition import end_run, new_run
from loop.store import queue
from loop.store.paths import Project

ROOT = Path(__file__).parents[2]
NOW = datetime(2026, 7, 23, 10, 0, tzinfo=UTC)
BOUND_S = 60


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """The whole environment of a child: nothing of this machine's user is in it."""
    home = tmp_path / "home"
    home.mkdir()
    return {
        "HOME": str(home),
        "XDG_STATE_HOME": str(home / "state"),
        "XDG_CONFIG_HOME": str(home / "config"),
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT),
        "LANG": "C.UTF-8",
    }


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A project with its folders, and nothing in them."""
    root = tmp_path / "shop"
    made = Project(root)
    for folder in made.folders():
        folder.mkdir(parents=True)
    return made


@dataclass(frozen=True)
class Called:
    """What a call gave."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def loop(
    project: Project,
    env: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Callable[..., Called]:
    """Calls `loop` in this process, in the project's folder."""
    for name in ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, env[name])
    for name in ("FORCE_COLOR", "LOOP_RUN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(project.root)

    def call(*words: str) -> Called:
        capsys.readouterr()
        code = main(words)
        return Called(code, *capsys.readouterr())

    return call


@pytest.fixture
def loop_process(project: Project, env: dict[str, str]) -> Callable[..., Called]:
    """Calls `python -m loop` in a process of its own, in the project's folder."""

    def call(*words: str, stdin: str = "") -> Called:
        done = subprocess.run(
            [sys.executable, "-m", "loop", *words],
            cwd=project.root,
            env=env,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=BOUND_S,
            check=False,
        )
        return Called(done.returncode, done.stdout, done.stderr)

    return call


def running(project: Project, title: str, **fields: Any) -> Task:
    """A task that runs, as far as the files say."""
    sent = queue.submit(project, {"title": title, "instructions": [title], **fields}, "user", NOW)
    run = new_run(sent.task, f"0000-{sent.task.id}", NOW)
    task = queue.claim(project, sent.task.id, run, NOW)
    assert task is not None
    return task


def settled(
    project: Project, title: str, status: Status, reason: str, at: datetime = NOW, **known: Any
) -> Task:
    """A task that has ended."""
    task = running(project, title)
    settle(project, task, status, reason, at, **known)
    return task


def settle(
    project: Project, task: Task, status: Status, reason: str, at: datetime = NOW, **known: Any
) -> None:
    """Ends a task that runs."""
    task = end_run(task, ended=at, status=status, reason=reason, cost=0.12, turns=3)
    queue.settle(
        project,
        task,
        Result(
            task_id=task.id,
            status=status,
            reason=reason,
            summary=f"About {task.title}",
            completed_at=at,
            runs=1,
            duration_s=184,
            cost_usd=0.12,
            turns=3,
            task={},
            **known,
        ),
        at + timedelta(seconds=1),
    )
