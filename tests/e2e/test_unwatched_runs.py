"""Runs of the real Claude Code that lost their log, or the shim that watches them."""

from __future__ import annotations

import asyncio
import threading

import psutil

from examples.scripted_api import hang, reply, report
from loop.builder.stream import started_line
from tests.e2e.desk import Desk


async def test_a_run_whose_log_was_removed_is_not_started_again_by_the_next_server(
    desk: Desk,
) -> None:
    gate = threading.Event()
    desk.script["Work on"] = [hang(until=gate, then=reply(report()))]
    async with desk.architect() as architect:
        await architect.queue("Work on")
        await asyncio.to_thread(desk.api.wait_for_requests, 1)
        desk.project.log("1").unlink()
        psutil.Process(architect.pid).kill()
    async with desk.architect() as architect:
        seen = await architect.call("check_builder_status", task_id="1", wait_seconds=3)
        assert seen["state"] == "running"
    gate.set()
    assert len([r for r in desk.api.received if not r.is_side_request]) == 1


async def test_a_cancel_ends_claude_code_though_its_shim_was_killed(desk: Desk) -> None:
    desk.script["Work on"] = [hang()]
    async with desk.architect() as architect:
        await architect.queue("Work on")
        await asyncio.to_thread(desk.api.wait_for_requests, 1)
        run = desk.events("run_started")[0]["uuid"]
        line = started_line(desk.project.log("1"), run)
        assert line is not None
        psutil.Process(line["shim"]["pid"]).kill()
        await architect.call("cancel_task", task_id="1")
        told = await architect.done("1")
    assert told["reason"] == "cancelled"
