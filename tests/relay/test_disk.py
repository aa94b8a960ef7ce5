"""The disk is full, read-only or gone: said clearly, nothing lost, and it goes on when mended."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from loop.actions.start import Prepared
from loop.service import worker as worker_module
from loop.service.run import spawn
from loop.service.wakeups import Wakeups
from loop.service.worker import Worker
from loop.store.paths import Project
from tests.relay.shop import Shop, comes_to, queue, status_of, until

_STAND_IN = Path(__file__).parent / "stand_in.py"


def _mounted(*words: str) -> bool:
    with suppress(OSError):
        done = subprocess.run(["mount", *words], capture_output=True, check=False, timeout=10)
        return done.returncode == 0
    return False


@pytest.fixture
def small(shop: Shop) -> Iterator[Shop]:
    """A shop whose `.ai` is a disk of its own, of 4 MB."""
    kept = shop.root / "kept"
    shop.project.ai.rename(kept)
    shop.project.ai.mkdir()
    if not _mounted("-t", "tmpfs", "-o", "size=4m", "none", str(shop.project.ai)):
        pytest.skip("a disk can't be mounted here")
    try:
        shutil.copytree(kept, shop.project.ai, dirs_exist_ok=True)
        yield shop
    finally:
        shop.release()
        shop.end_processes()
        subprocess.run(["umount", "--lazy", str(shop.project.ai)], check=True, timeout=10)


def fill(folder: Path) -> Path:
    """A file that leaves no room."""
    filler = folder / "filler"
    with suppress(OSError), filler.open("wb", buffering=0) as file:
        while True:
            file.write(b"x" * 4096)
    return filler


def test_a_full_disk_is_named_and_the_queue_goes_on_when_there_is_room(small: Shop) -> None:
    small.hold()
    with small.server() as server:
        first = queue(server, "Work on")
        small.has_started()
        queue(server, "And this")
        filler = fill(small.project.ai)
        with pytest.raises(RuntimeError, match="the disk is full; make room"):
            queue(server, "No room for this")
        small.release()
        until(lambda: not small.processes(), "the run has ended")
        until(lambda: "problem" in status_of(server, first, 0), "the trouble is told")
        told = status_of(server, first, 0)
        assert "the disk is full" in told["problem"]
        assert told["next"].startswith("end your turn")
        assert "is full: make room" in small.run("status")
        filler.unlink()
        assert comes_to(server, first, "success")
        assert comes_to(server, "2", "success")
        third = queue(server, "And more")
        assert comes_to(server, third, "success")
    # What was refused has not become a task.
    assert small.launches() == ["1", "2", third]
    assert small.count("1") == {"task_queued": 1, "run_started": 1, "run_completed": 1}


def test_no_run_is_started_on_a_full_disk(small: Shop) -> None:
    def pauses() -> list[str]:
        return [event["kind"] for event in small.events() if event["event"] == "queue_paused"]

    with small.server() as server:
        server.call("pause_queue")
        task_id = queue(server, "Work on")
        with (small.project.ai / "filler").open("wb") as file:
            file.write(b"x" * 3_300_000)  # room for our own files, and for no log
        server.call("resume_queue")
        told = comes_to(server, task_id, "paused")
        assert "is full: make room" in told["reason"]
        until(lambda: "disk_full" in pauses(), "the worker has paused")
        (small.project.ai / "filler").unlink()
        assert comes_to(server, task_id, "success")
    assert pauses() == ["person", "disk_full"]


def test_a_folder_that_can_not_be_written_is_named_and_the_queue_goes_on_when_it_can(
    shop: Shop,
) -> None:
    places = [shop.project.state, shop.project.queue, shop.project.running]
    with shop.server(no_rights(shop.serve)) as server:
        server.call("pause_queue")
        task_id = queue(server, "Work on")
        shop.project.paused.unlink()
        for place in places:
            place.chmod(0o500)
        told = comes_to(server, task_id, "paused")
        assert "can't be written: make it writable" in told["reason"]
        with pytest.raises(RuntimeError, match="no permission"):
            queue(server, "Not to be written")
        for place in places:
            place.chmod(0o700)
        assert comes_to(server, task_id, "success")
    assert shop.launches() == ["1"]


def no_rights(command: list[str]) -> list[str]:
    """The command without root's right to write everywhere."""
    if os.getuid():
        return command
    if shutil.which("setpriv") is None:
        pytest.skip("root may write everywhere, and there is no setpriv")
    return ["setpriv", "--bounding-set=-all", "--inh-caps=-all", *command]


def test_a_run_whose_folder_was_removed_keeps_its_result(shop: Shop) -> None:
    shop.hold()
    with shop.server() as server:
        task_id = queue(server, "Work on")
        shop.has_started()
        shop.forget()
        told = comes_to(server, task_id, "paused")
        assert ".ai is gone: run `loop init` again" in told["reason"]
        shop.project.ai.write_text("in the place of a folder")
        told = status_of(server)
        assert ".ai is not a folder: move it away and run `loop init`" in told["reason"]
        shop.release()
        until(lambda: not shop.processes(), "the run has ended")
        shop.project.ai.unlink()
        shop.run("init", str(shop.root))
        assert shop.result(task_id)["status"] == "success"
        shop.configure(builder={"command": str(_STAND_IN)})
        following = queue(server, "And this")
        assert comes_to(server, following, "success")
    assert (task_id, following) == ("1", "2")
    assert shop.launches() == ["1", "2"]


async def test_a_folder_removed_right_after_a_launch_costs_no_result(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def launch_and_forget(project: Project, prepared: Prepared) -> int:
        code = await spawn(project, prepared)
        shop.forget()
        return code

    def meanwhile() -> str:
        shop.has_started()
        until(lambda: not shop.project.ai.exists(), "the folder is gone")
        shop.run("init", str(shop.root))
        assert not shop.project.task_file(shop.project.running, "1").exists()
        shop.release()
        return str(shop.result("1")["status"])

    monkeypatch.setattr(worker_module, "spawn", launch_and_forget)
    monkeypatch.setenv("HOME", shop.env["HOME"])  # what was approved lies there
    shop.hold()
    shop.run("add", "Work on")
    worker = asyncio.create_task(Worker(shop.project, Wakeups(), shop.env).run())
    try:
        assert await asyncio.to_thread(meanwhile) == "success"
    finally:
        worker.cancel()
    assert shop.launches() == ["1"]


def test_a_check_that_removes_the_folder_costs_no_result(shop: Shop) -> None:
    check = f"test ! -e {shop.script / 'launches'} || rm -rf .ai"  # not the look before the run
    shop.configure(verify={"test_command": check})
    with shop.server() as server:
        task_id = queue(server, "Work on")
        until(lambda: not shop.project.ai.exists(), "the check has run")
        told = comes_to(server, task_id, "paused")
        assert ".ai is gone: run `loop init` again" in told["reason"]
        shop.run("init", str(shop.root))
        assert shop.result(task_id)["status"] == "success"
    assert shop.launches() == ["1"]


def test_a_folder_put_back_from_a_copy_does_not_start_what_runs_again(
    shop: Shop, tmp_path: Path
) -> None:
    shop.hold()
    with shop.server() as server:
        task_id = queue(server, "Work on")
        shop.has_started()
        shutil.copytree(shop.project.ai, tmp_path / "backup")
        shop.forget()
        shutil.copytree(tmp_path / "backup", shop.project.ai)
    with shop.server() as server:  # knows nothing of the log that was removed
        until(lambda: shop.count("1")["run_recovered"] >= 1, "it was found")
        assert status_of(server, task_id, 0)["state"] == "running"
        assert shop.launches() == ["1"]
        shop.release()
        result = shop.result(task_id)
    first = result["task"]["runs"][0]
    assert (first["number"], first["uuid"]) == (1, _run_of(shop, 0))
    # It came to its own end; what it said went into a file that has no name any more.
    assert first["reason"] == "damaged_output"
    assert len(shop.launches()) == result["runs"]


def _run_of(shop: Shop, number: int) -> str:
    return (shop.script / "launches").read_text().splitlines()[number].split()[1]


@pytest.mark.parametrize("place", ["queue", "running", "completed"])
def test_a_folder_named_like_a_task_stops_no_other_task(shop: Shop, place: str) -> None:
    (shop.project.ai / place / "0001.json").mkdir()
    (shop.project.ai / place / "0001.json" / "a").touch()
    with shop.server() as server:
        ids = [queue(server, f"Work on {n}") for n in range(2)]
        for task_id in ids:
            assert comes_to(server, task_id, "success")
        assert server.call("list_tasks").data["counts"]["settled"] >= 2
    shop.run("status")
    assert shop.run("doctor", "--json", code=None)


def test_without_watches_the_rescan_finds_what_is_dropped_and_doctor_says_why(
    shop: Shop,
) -> None:
    limit = "echo 0 > /proc/sys/user/max_inotify_instances"
    bare = ["unshare", "-Ur", "sh", "-c"]
    with suppress(OSError):
        if subprocess.run([*bare, limit], capture_output=True, check=False).returncode:
            pytest.skip("the limit can't be set for a process alone here")
    with shop.server([*bare, f'{limit} && exec "$@"', "sh", *shop.serve]) as server:
        until(lambda: shop.owner() is not None, "it owns the queue")
        drop(shop, "0007.json")
        assert comes_to(server, "7", "success")
        doctor = shop.run("doctor", "--json", code=None)
    assert "no events of the file system (the limit of watchers is reached" in doctor
    assert "disk full" not in doctor


def test_a_queue_that_was_removed_and_made_anew_is_watched_again(shop: Shop) -> None:
    with shop.server() as server:
        assert comes_to(server, queue(server, "Before"), "success")
        shutil.rmtree(shop.project.queue)
        shop.project.queue.mkdir()
        until(lambda: _is_watched(server.process.pid, shop.project.queue), "it is watched anew")
        shop.configure(scan_seconds=3600)
        server.call("list_tasks")
        drop(shop, "0007.json")
        assert comes_to(server, "7", "success")


def _is_watched(pid: int, folder: Path) -> bool:
    wanted = f"ino:{folder.stat().st_ino:x} "
    with suppress(OSError):
        infos = (path.read_text() for path in Path(f"/proc/{pid}/fdinfo").iterdir())
        return any(wanted in text for text in infos if "inotify" in text)
    return False


def drop(shop: Shop, name: str) -> None:
    """Drops a task into the queue as another program does."""
    beside = shop.root / name
    beside.write_text(json.dumps({"instructions": "Dropped"}))
    beside.replace(shop.project.queue / name)
