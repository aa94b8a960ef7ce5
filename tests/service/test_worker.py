"""The worker, step by step, without a server around it."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from loop.actions import start
from loop.actions.change import cancel
from loop.builder.permissions import approve
from loop.errors import NotReady
from loop.service.wakeups import Wakeups
from loop.service.worker import Worker, WorkerOptions, utc_now
from loop.store import timeline
from loop.store.journal import transition
from loop.store.locks import locked
from loop.store.paths import Project
from loop.store.pauses import pause_for
from loop.store.project_files import read_pause
from loop.store.scan import ids_in, locate
from tests.shifting import Bound, sleeper
from tests.tasks import claim, settle, submit

BARE = {"PATH": os.defpath, "HOME": "/nonexistent"}


@pytest.fixture
def able(project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project in which a run can start."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    project.builder_settings.write_text("{}")
    project.config.write_text(json.dumps({"builder": {"command": "/bin/true"}}))
    approve(project)
    return project


def track(project: Project, name: str) -> None:
    """Makes git track a file, as a commit that was pulled does."""
    for words in (["init", "--quiet"], ["add", "--force", name]):
        subprocess.run(["git", *words], cwd=project.root, check=True, timeout=20)


async def test_a_worker_that_waits_for_what_is_missing_does_not_wake_itself(
    project: Project,
) -> None:
    project.config.write_text(json.dumps({"builder": {"command": "/no/such/claude"}}))
    submit(project, utc_now())
    wakeups = Wakeups()
    worker = Worker(project, wakeups, BARE)
    await worker._own()
    with wakeups.subscribe() as wakeup:
        assert await worker._try_claim(worker._look()) is not None
        await wakeup.wait(0)  # the pause is news, once
        assert await worker._try_claim(worker._look()) is not None
        assert not await wakeup.wait(0)
    worker._lock.release()


async def test_an_old_copy_in_the_queue_stops_no_other_task(able: Project) -> None:
    now = utc_now()
    task = submit(able, now)
    copy = able.task_file(able.queue, "1")
    data = copy.read_bytes()
    settle(able, claim(able, task, now), now)
    copy.write_bytes(data)  # a power cut, a backup, a person
    submit(able, now, "other")
    worker = Worker(able, Wakeups(), BARE)
    await worker._own()
    for _ in range(2):
        await worker._try_claim(worker._look())
    worker._lock.release()
    assert ids_in(able.running) == ["2"]
    assert locate(able, "1", now).state == "success"
    assert ids_in(able.queue) == []


async def test_a_claimed_task_goes_back_when_claude_is_gone_before_its_launch(
    able: Project,
) -> None:
    now = utc_now()
    claim(able, submit(able, now), now)
    able.config.write_text(json.dumps({"builder": {"command": "/no/such/claude"}}))
    worker = Worker(able, Wakeups(), BARE)
    await worker._own()
    with worker._wakeups.subscribe() as wakeup:
        await worker._step(wakeup)
    worker._lock.release()
    located = locate(able, "1", now)
    assert (located.state, located.task.attempt, located.task.runs) == ("queued", 1, [])
    pause = read_pause(able)
    assert pause is not None
    assert pause.kind == "no_claude"


async def test_while_a_session_is_bound_nothing_is_claimed_and_its_end_wakes_the_worker(
    able: Project,
) -> None:
    with sleeper() as process:
        session = Bound(able, able.root, process)
        session.add("The session's")
        session.add("The worker's")
        session.begins()
        worker = Worker(able, Wakeups(), BARE)
        await worker._own()
        assert "run_recovered" not in _events(able)  # it is the session's still
        worker._scan_s = lambda: 60.0  # type: ignore[method-assign]
        with worker._wakeups.subscribe() as wakeup:
            await wakeup.wait(0)
            step = asyncio.ensure_future(worker._step(wakeup))
            while worker._session_end._watched is None:  # noqa: ASYNC110 -- set on another thread
                await asyncio.sleep(0.01)
            assert not step.done()
            process.kill()
            process.wait()
            await asyncio.wait_for(step, 10)
            assert session.state("1") == "running"
            await worker._step(wakeup)
        worker._lock.release()
        located = session.at("1")
        assert (located.state, located.task.run) == ("queued", 2)
        assert "interrupted" in (located.task.note_to_run or "")
        await worker._own()
        while not ids_in(able.running):
            await worker._try_claim(worker._look())
        worker._lock.release()
        assert [r.driver for r in session.at("1").task.runs] == ["session", "headless"]


async def test_between_two_tasks_of_a_session_nothing_is_claimed(able: Project) -> None:
    with sleeper() as process:
        session = Bound(able, able.root, process)
        session.add("The session's")
        session.begins()
        session.reports()
        session.add("Later")
        with transition(able) as t:  # its hook was killed after it had settled the task
            t.remove(able.task_file(able.running, "1"))
        assert start.claim(able, "2", BARE, "u-2", utc_now()) is None
        worker = Worker(able, Wakeups(), BARE)
        worker._scan_s = lambda: 0.0  # type: ignore[method-assign]
        await worker._own()
        with worker._wakeups.subscribe() as wakeup:
            await worker._step(wakeup)
            assert not await wakeup.wait(0)  # nor does it try again and again
        worker._lock.release()
        process.kill()
        process.wait()
        assert start.claim(able, "2", BARE, "u-2", utc_now()) is not None


async def test_what_was_missing_is_back_so_the_pause_ends_though_no_task_waits(
    able: Project,
) -> None:
    pause_for(able, "no_claude", "not found", None, utc_now())
    worker = Worker(able, Wakeups(), BARE)
    await worker._own()
    await worker._try_claim(worker._look())
    worker._lock.release()
    assert read_pause(able) is None
    assert timeline.last(able.timeline, 1)[0]["event"] == "queue_resumed"


async def test_a_misfit_stops_no_task_though_the_folder_for_misfits_was_removed(
    able: Project,
) -> None:
    (able.queue / "misfit.json").write_text("{}")
    submit(able, utc_now())
    able.invalid.rmdir()
    worker = Worker(able, Wakeups(), BARE)
    await worker._own()
    worker._scan._monotonic = lambda: 0.0
    worker._look()
    worker._scan._monotonic = lambda: 99.0
    await worker._try_claim(worker._look())
    worker._lock.release()
    assert ids_in(able.running) == ["1"]
    assert (able.invalid / "misfit.json").exists()


def test_a_fresh_start_is_for_the_next_run_alone(project: Project) -> None:
    now = utc_now()
    submit(project, now, fresh=True)
    claimed = start.claim(project, "1", BARE, "u-1", now)
    assert claimed is not None
    assert not claimed.fresh


def test_the_model_of_the_command_line_counts_more_than_that_of_the_settings(able: Project) -> None:
    settings = {"builder": {"command": "/bin/true", "model": "sonnet"}}
    able.config.write_text(json.dumps(settings))
    worker = Worker(able, Wakeups(), BARE, WorkerOptions(model="opus"))
    assert worker._ready().config.builder.model == "opus"


@pytest.mark.parametrize("name", [".ai/running/0001.json", ".ai/state/intent"])
async def test_a_run_that_a_commit_brings_is_not_gone_on_with(able: Project, name: str) -> None:
    now = utc_now()
    claim(able, submit(able, now), now)
    track(able, name)
    worker = Worker(able, Wakeups(), BARE)
    await worker._own()
    with worker._wakeups.subscribe() as wakeup, pytest.raises(NotReady, match=f"{name} is in git"):
        await worker._step(wakeup)
    worker._lock.release()
    assert ids_in(able.running) == ["1"]


async def test_what_others_end_while_a_run_goes_on_spreads_at_once(able: Project) -> None:
    now = utc_now()
    running = claim(able, submit(able, now), now)
    submit(able, now, "cancelled")
    submit(able, now, "stands on it", depends_on=["2"])
    worker = Worker(able, Wakeups(), BARE)
    with worker._wakeups.subscribe() as wakeup, locked(able.log("1")):
        waiting = asyncio.create_task(worker._wait(worker._keep(running), wakeup))
        await asyncio.to_thread(cancel, able, "2", "user", now)
        async with asyncio.timeout(20):
            while _events(able)[-1] != "task_blocked":
                worker._wakeups.wake()
                await asyncio.sleep(0.01)
        waiting.cancel()
        with suppress(asyncio.CancelledError):
            await waiting


def _events(project: Project) -> list[str]:
    return [event["event"] for event in timeline.last(project.timeline, 9)]
