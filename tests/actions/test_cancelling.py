"""A cancel that meets a run at its end, and runs that nobody watches."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import psutil
import pytest

from loop.actions import change, finish
from loop.actions.recover import examine, void
from loop.builder.stream import offset_of
from loop.core import transition as rules
from loop.core.config import Config
from loop.core.recovery import Found
from loop.core.task import Task
from loop.service.wakeups import Wakeups
from loop.service.worker import Worker, utc_now
from loop.store import queue
from loop.store.locks import is_locked
from loop.store.paths import Project
from loop.store.pauses import pause
from loop.store.project_files import Pause, read_pause
from loop.store.scan import locate
from tests.builder.launching import PATIENCE_S, Run, wait_until
from tests.tasks import claim, submit


def interrupted(project: Project, now: datetime) -> Task:
    """A task whose run was cut off."""
    task = claim(project, submit(project, now), now)
    assert void(project, task, "interrupted")
    return task


def test_a_cancel_that_comes_while_a_run_is_judged_is_not_lost(
    project: Project, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = interrupted(project, now)
    give_back = queue.give_back

    def cancelled_just_before(*given: Any, **named: Any) -> Any:
        queue.request_cancel(project, task, "cancelled", None)
        return give_back(*given, **named)

    monkeypatch.setattr(queue, "give_back", cancelled_just_before)
    finish.finish(project, task, Config(), now)
    located = locate(project, "1", now)
    assert located.result is not None, located.state
    assert located.result.reason == "cancelled"


def test_a_cancel_that_finds_the_run_given_back_cancels_the_queued_task(
    project: Project, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = claim(project, submit(project, now), now)
    request = queue.request_cancel

    def given_back_just_before(*given: Any) -> bool:
        event = rules.retried(task, "silent", None, now)
        queue.give_back(project, task, event, retry=True, note=None)
        return request(*given)

    monkeypatch.setattr(queue, "request_cancel", given_back_just_before)
    assert change.cancel(project, "1", "user", now).state == "failure"


def test_a_cancel_counts_more_than_the_interruption_by_a_server_that_ended(
    project: Project, now: datetime
) -> None:
    task = interrupted(project, now)
    queue.request_cancel(project, task, "interrupted", None)
    located = change.cancel(project, "1", "user", now)
    assert located.result is not None, located.state
    assert located.result.reason == "cancelled"


def test_a_limit_does_not_replace_the_pause_that_a_person_made_meanwhile(
    project: Project, now: datetime
) -> None:
    task = claim(project, submit(project, now), now)
    probe = Pause(by="worker", reason="expired", since=now, kind="login")
    pause(project, "user", "lunch", now)
    event = rules.paused(task, "login", "expired", None, now, tries=0)
    queue.give_back(project, task, event, retry=False, note=None, pause=probe)
    current = read_pause(project)
    assert current is not None
    assert current.reason == "lunch"


def test_a_void_run_is_known_though_the_log_ends_within_a_line(
    project: Project, now: datetime
) -> None:
    task = claim(project, submit(project, now), now)
    project.log("1").write_bytes(b'{"type":"assist')
    assert void(project, task, "cancelled")
    assert offset_of(project.log("1"), task.runs[-1].uuid) is not None


@pytest.fixture
def launched(project: Project, now: datetime) -> Iterator[tuple[Task, Run]]:
    """A running task whose stand-in Builder is at work, under a shim."""
    task = submit(project, now)
    run = Run(project.ai)
    claimed = queue.claim(project, task.id, rules.new_run(task, run.uuid, now), now)
    assert claimed is not None
    moved = {"record": "json", "prompt": "prompt", "exit": "exit", "cancel": "cancel"}
    command = run.prepare("init", "reply", "tool", "wait:go", grace_s=0.5)
    launch = json.loads(Path(command[-1]).read_text())
    launch |= {key: str(project.running / f"0001.{end}") for key, end in moved.items()}
    launch |= {"log": str(project.log("1")), "err": str(project.err("1")), "task_id": "1"}
    project.run_file("1", "prompt").write_text("do it\n")
    project.run_file("1", "launch").write_text(json.dumps(launch))
    run.log = project.log("1")
    _start(command[:-1], project, run)
    try:
        yield claimed, run
    finally:
        run.go.write_text("on")
        run.clean_up()


def _start(launcher: list[str], project: Project, run: Run) -> None:
    done = subprocess.run(
        [*launcher, str(project.run_file("1", "launch"))],
        cwd=project.ai, env=run.environment, capture_output=True, timeout=PATIENCE_S, check=True,
    )  # fmt: skip
    run.note(json.loads(done.stdout))
    run.wait_for_line("assistant")


@pytest.mark.skipif(sys.platform != "linux", reason="processes are found by their environment")
def test_a_run_whose_log_was_removed_is_not_launched_again(
    project: Project, launched: tuple[Task, Run], now: datetime
) -> None:
    project.log("1").unlink()
    assert examine(project, "1", now)[0] is Found.WAIT


def test_a_run_that_starts_while_one_looks_is_not_judged(
    project: Project, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = claim(project, submit(project, now), now)
    lines = [b'{"type":"loop","run":"' + task.runs[-1].uuid.encode() + b'","event":"started"}\n']

    def starts_after_the_look(path: Path) -> bool:
        answer = is_locked(path)
        project.log("1").write_bytes(lines[0])
        return answer

    monkeypatch.setattr("loop.actions.recover.is_locked", starts_after_the_look)
    assert examine(project, "1", now)[0] is not Found.JUDGE


def test_a_cancel_with_no_worker_waits_for_the_run_and_settles_the_task(
    project: Project, launched: tuple[Task, Run]
) -> None:
    located = change.cancel(project, "1", "user", utc_now())
    assert located.result is not None, located.state
    assert located.result.reason == "cancelled"


@pytest.mark.skipif(sys.platform != "linux", reason="processes are found by their environment")
async def test_a_cancel_ends_a_builder_whose_shim_was_killed(
    project: Project, launched: tuple[Task, Run]
) -> None:
    task, run = launched
    psutil.Process(run.shim).kill()
    wait_until(lambda: not psutil.pid_exists(run.shim) or not _runs(run.shim))
    queue.request_cancel(project, task, "cancelled", None)
    worker = Worker(project, Wakeups(), run.environment)
    with worker._wakeups.subscribe() as wakeup:
        async with asyncio.timeout(PATIENCE_S):
            await worker._wait(worker._keep(task), wakeup)
    assert examine(project, "1", utc_now())[0] is Found.JUDGE


def _runs(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
