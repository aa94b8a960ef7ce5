"""Files dropped from outside, a server that is killed, a run that is cancelled."""

from __future__ import annotations

import asyncio
import json
import signal
import threading

import psutil

from examples.scripted_api import hang, reply, report, tool
from tests.e2e.desk import Desk, put, until
from tests.e2e.raw import RawServer


async def test_a_file_with_nothing_but_instructions_dropped_into_the_queue_runs(
    desk: Desk,
) -> None:
    desk.script["Dropped"] = [[report()]]
    async with desk.architect() as architect:
        file = desk.project.queue / "0007.json"
        put(file, json.dumps({"instructions": "Dropped work", "ticket": {"nr": 5}}))
        told = await architect.done("7")
        following = await architect.queue("Dropped more")
    assert told["status"] == "success"
    assert desk.result("7")["task"]["ticket"] == {"nr": 5}
    assert desk.events("task_queued")[0]["actor"] == "user"
    assert following == "8"


async def test_a_killed_server_leaves_its_run_and_the_next_one_adopts_it(desk: Desk) -> None:
    gate = threading.Event()
    last = reply(report(summary="Went on alone."))
    desk.script["Work on"] = [
        [desk.writes("new.txt")],
        *desk.notes_the_change(),
        hang(until=gate, then=last),
    ]
    put(desk.project.queue / "0001.json", json.dumps({"instructions": ["Work on"]}))
    async with RawServer.at(desk, desk.serve) as server:
        await asyncio.to_thread(desk.api.wait_for_requests, 4)
        server.process.kill()
        assert await asyncio.wait_for(server.process.wait(), 10) == -signal.SIGKILL
    orphans = {process.pid for process in desk.processes()}
    assert len(orphans) >= 2  # the shim and the Builder

    async with desk.architect() as architect:
        seen = await architect.call("check_builder_status", task_id="1", wait_seconds=0)
        assert seen["state"] == "running"
        await until(lambda: desk.events("run_recovered") != [], "the next server found the run")
        assert {process.pid for process in desk.processes()} >= orphans
        gate.set()
        told = await architect.done("1")

    assert (told["status"], told["summary"]) == ("success", "Went on alone.")
    assert told["commit_hash"] == desk.git("rev-parse", "HEAD").strip()
    assert [name for name in desk.event_names() if name.startswith("run_")] == [
        "run_started",
        "run_recovered",
        "run_completed",
    ]
    assert desk.result("1")["runs"] == 1
    assert len(list(desk.project.completed.glob("*.json"))) == 1


async def test_a_run_that_ended_while_no_server_was_there_is_judged_by_the_next(
    desk: Desk,
) -> None:
    gate = threading.Event()
    desk.script["Work on"] = [hang(until=gate, then=reply(report(summary="Alone.")))]
    async with desk.architect() as architect:
        await architect.queue("Work on")
        await asyncio.to_thread(desk.api.wait_for_requests, 1)
    # Closed as Claude Desktop closes it: the run goes on.
    assert desk.processes() != []
    gate.set()
    await until(lambda: desk.processes() == [], "the run has ended")
    assert desk.project.run_file("1", "exit").exists()

    async with desk.architect() as architect:
        told = await architect.done("1")
    assert (told["status"], told["summary"]) == ("success", "Alone.")
    assert len(desk.events("run_started")) == 1


async def test_with_on_shutdown_stop_the_run_ends_with_the_server_and_is_resumed(
    desk: Desk,
) -> None:
    gate = threading.Event()
    desk.configure(on_shutdown="stop")
    desk.script["Work on"] = [[tool("Bash", command="git status")], hang(until=gate)]
    async with desk.architect() as architect:
        await architect.queue("Work on")
        await asyncio.to_thread(desk.api.wait_for_requests, 2)
    await until(lambda: desk.processes() == [], "the run has ended")
    desk.script["Work on"] = [[report(summary="Went on.")]]
    async with desk.architect() as architect:
        told = await architect.done("1")
    assert (told["status"], told["summary"]) == ("success", "Went on.")
    runs = desk.result("1")["task"]["runs"]
    assert [run["reason"] for run in runs] == ["interrupted", "success"]
    assert len({run["session"] for run in runs}) == 1
    # Claude Code, interrupted while it is busy, does not always say what it cost.
    results = [line for line in desk.stream("1") if line["type"] == "result"]
    assert sum("cost" in run for run in runs) == len(results)


async def test_cancelling_ends_a_run_and_everything_it_started(desk: Desk) -> None:
    desk.script["Work on"] = [[desk.writes("half.txt")], hang(60)]
    async with desk.architect() as architect:
        task_id = await architect.queue("Work on")
        await asyncio.to_thread(desk.api.wait_for_requests, 2)
        alive = desk.processes()
        assert len(alive) >= 2
        cancelled = await architect.call("cancel_task", task_id=task_id)
        told = await architect.done(task_id)
        again = await architect.call("cancel_task", task_id=task_id)
    assert cancelled["state"] in ("running", "failure")
    assert (told["status"], told["reason"]) == ("failure", "cancelled")
    assert (again["state"], again["reason"]) == ("failure", "cancelled")
    assert told["files_changed"] == ["half.txt"]
    assert psutil.wait_procs(alive, 10)[1] == []
    assert desk.processes() == []
    assert len(desk.events("task_cancelled")) == 1
    assert len(desk.events("run_started")) == 1


async def test_cancelling_what_is_queued_runs_nothing(desk: Desk) -> None:
    async with desk.architect() as architect:
        await architect.call("pause_queue")
        task_id = await architect.queue("Never")
        cancelled = await architect.call("cancel_task", task_id=task_id)
        await architect.call("resume_queue")
        idle = await architect.call("check_builder_status")
    assert (cancelled["state"], cancelled["reason"]) == ("failure", "cancelled")
    assert [result["task_id"] for result in idle["results"]] == [task_id]
    assert desk.result(task_id)["reason"] == "cancelled"
    assert desk.api.requests == []
