"""A Builder that finds our own server can look, and nothing more."""

from __future__ import annotations

from examples.scripted_api import report
from loop.store.project_files import read_owner
from tests.e2e.desk import Desk

LOOKING = ["check_builder_status", "get_task", "list_tasks", "show_timeline"]


async def test_under_loop_run_there_are_only_tools_that_look_and_no_worker(desk: Desk) -> None:
    desk.script[""] = [[report()]]
    async with desk.architect(LOOP_RUN="4d5ad5c1-5b1e-4a4c-9d0a-0d6f6c1f3a11") as inside:
        offered = (await inside.client.list_tools()).tools
        assert sorted(tool.name for tool in offered if tool.name in LOOKING) == LOOKING
        assert all(tool.annotations and tool.annotations.read_only_hint for tool in offered)
        assert "queue_task" in await inside.refusal("queue_task", instructions=["For myself"])
        assert list(desk.project.queue.iterdir()) == []

        # A worker would own the queue by now: one in another server does, and runs the task.
        async with desk.architect() as outside:
            assert (await outside.done(await outside.queue("Work on")))["status"] == "success"
            owner = read_owner(desk.project)
            assert owner is not None
            assert owner.pid == outside.pid
        seen = await inside.call("get_task", task_id="1")
        assert seen["state"] == "success"
    assert read_owner(desk.project) is None
