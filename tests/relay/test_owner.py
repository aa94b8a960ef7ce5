"""One process has runs executed, whatever becomes of the others and of the folder."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
from datetime import UTC, datetime
from pathlib import Path

import pytest

from loop.service.wakeups import Wakeups
from loop.service.worker import Worker
from loop.store import drive
from loop.store.paths import Project
from loop.store.project_files import Owner
from tests.relay.shop import Shop, comes_to, queue, status_of, until
from tests.tasks import submit

#: Seconds within which another one takes over, with something for a slow machine.
_TAKE_OVER_S = 2.0 + 2.0


def test_when_the_owner_is_killed_another_server_takes_over_its_run_and_the_queue(
    shop: Shop,
) -> None:
    shop.hold()
    with shop.server() as one, shop.server() as two:
        first = queue(one, "Work on")
        shop.has_started()
        owner, other = (one, two) if shop.owner() == one.process.pid else (two, one)
        waiting = other.start("check_builder_status", task_id=first, wait_seconds=20)
        os.kill(owner.process.pid, signal.SIGKILL)
        until(lambda: shop.owner() == other.process.pid, "the other owns it", _TAKE_OVER_S)
        shop.release()
        assert waiting.result(20).data["state"] == "success"
        assert comes_to(other, queue(other, "And this"), "success")
    assert shop.launches() == ["1", "2"]
    assert shop.count("1") == {
        "task_queued": 1, "run_started": 1, "run_recovered": 1, "run_completed": 1,
    }  # fmt: skip


def test_three_servers_started_at_once_run_each_task_once(shop: Shop) -> None:
    for number in range(5):
        shop.run("add", f"Task with number {number}")
    with shop.server() as one, shop.server() as two, shop.server():
        for task_id in "12345":
            assert comes_to(one if int(task_id) % 2 else two, task_id, "success")
    assert sorted(shop.launches()) == list("12345")


def test_a_server_whose_folder_was_cleaned_works_on_after_init(shop: Shop) -> None:
    with shop.server() as one, shop.server() as two:
        assert comes_to(one, queue(one, "Before"), "success")
        shop.forget()
        gone = status_of(one)
        assert (gone["state"], gone["next"].startswith("end your turn")) == ("paused", True)
        assert ".ai is gone: run `loop init`" in gone["reason"]
        shop.run("init", str(shop.root))
        shop.configure(builder={"command": str(Path(__file__).parent / "stand_in.py")})
        ids = [queue(server, f"After {n}") for n, server in enumerate((one, two, one, two))]
        for task_id in ids:
            assert comes_to(two, task_id, "success")
        assert shop.owner() in (one.process.pid, two.process.pid)
    assert ids == ["1", "2", "3", "4"]
    assert shop.launches() == ["1", *ids]
    assert [shop.count(task_id)["run_started"] for task_id in ids] == [1] * 4


def test_a_lock_file_that_names_a_living_process_owns_nothing(shop: Shop) -> None:
    stranger = Owner(pid=os.getpid(), host="elsewhere", since=datetime.now(UTC))
    record = {"pid": stranger.pid, "host": stranger.host, "since": "2026-01-01T00:00:00Z"}
    shop.project.worker_lock.write_text(json.dumps(record))
    assert shop.owner() is None
    assert "none is open" in shop.run("status")
    shop.run("add", "Do it")
    shop.run("work", "--drain")
    assert shop.launches() == ["1"]


def test_who_owns_the_queue_since_when_is_told(shop: Shop) -> None:
    with shop.server() as server:
        until(lambda: shop.owner() == server.process.pid, "it owns the queue")
        worker = json.loads(shop.run("status", "--json"))["worker"]
        assert (worker["pid"], worker["driver"]) == (server.process.pid, "serve")
        since = datetime.fromisoformat(worker["since"])
        assert abs((datetime.now(UTC) - since).total_seconds()) < 60
        doctor = shop.run("doctor", "--json", code=None)
        assert f"process {server.process.pid} on " in doctor


def test_a_copied_project_leaves_the_run_of_the_original_alone(shop: Shop, tmp_path: Path) -> None:
    shop.hold()
    with shop.server() as server:
        task_id = queue(server, "Work on")
        queue(server, "Another")
        shop.has_started()
        copy = shop.elsewhere(shutil.copytree(shop.root, tmp_path / "copy"))
        before = copy.project.timeline.read_bytes()
        with copy.server() as second:
            refused = status_of(second, "2")
            assert refused["state"] == "paused"
            assert f"belongs to {shop.root}: run `loop init`" in refused["reason"]
            assert f"belongs to {shop.root}" in copy.run("cancel", "1", code=1)
            assert copy.owner() is None
        assert f"belongs to {shop.root}" in copy.run("status")
        assert copy.project.timeline.read_bytes() == before
        assert copy.project.task_file(copy.project.running, "1").exists()
        assert status_of(server, task_id, 0)["state"] == "running"
        shop.release()
        assert comes_to(server, "2", "success")
    assert shop.result("1")["status"] == "success"
    assert shop.launches() == ["1", "2"]


def test_a_copy_that_was_made_a_project_of_its_own_works(shop: Shop, tmp_path: Path) -> None:
    shop.hold()
    with shop.server() as server:
        queue(server, "Work on")
        shop.has_started()
        copy = shop.elsewhere(shutil.copytree(shop.root, tmp_path / "copy"))
        copy.run("init", str(copy.root))
        with copy.server() as second:
            # What ran in the original counts as interrupted here, and is run once more.
            copy.has_started(2)
            assert status_of(second, "1", 0)["state"] == "running"
            assert status_of(server, "1", 0)["state"] == "running"
            shop.release()
            assert comes_to(second, "1", "success")
            assert comes_to(server, "1", "success")
    assert [run["reason"] for run in copy.result("1")["task"]["runs"]] == ["interrupted", "success"]
    assert shop.result("1")["runs"] == 1


async def test_on_a_network_drive_nothing_is_owned_and_the_worker_says_why(
    project: Project, now: datetime, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"/dev/sda1 / ext4 rw 0 0\nserver:/home {project.root} nfs4 rw 0 0\n")
    monkeypatch.setattr(drive, "_MOUNTS", mounts)
    submit(project, now)
    worker = Worker(project, Wakeups(), {})
    working = asyncio.create_task(worker.run())
    async with asyncio.timeout(10):
        while worker.trouble is None:  # noqa: ASYNC110 -- no event tells of it
            await asyncio.sleep(0.01)
    working.cancel()
    assert "network drive (nfs4): move it to a disk of this machine" in worker.trouble
    assert not worker.is_owner
    assert project.task_file(project.queue, "1").exists()
