"""A plan as the Architect sends it, over stdio, to a real server."""

from __future__ import annotations

import json

from loop.store.scan import ids_in
from tests.e2e.desk import Desk
from tests.e2e.raw import RawServer

_MOST_BYTES = 12 * 1024


async def test_a_plan_is_checked_queued_once_and_told_by_derived_states(desk: Desk) -> None:
    plan = [
        {"ref": "a", "title": "First", "instructions": "x"},
        {"ref": "b", "title": "All", "instructions": "x", "depends_on": ["a"]},
        {"ref": "c", "title": "Part", "instructions": "x", "parent": "b"},
        {"ref": "d", "title": "Last", "instructions": "x", "depends_on": ["b"], "role": "tester"},
    ]
    async with RawServer.at(desk, desk.serve) as server:
        await server.initialize()
        tools = (await server.ask("tools/list"))["result"]["tools"]
        assert len(json.dumps(tools, separators=(",", ":"))) < _MOST_BYTES
        await server.call("pause_queue")

        dry = (await server.call("queue_plan", tasks=plan, dry_run=True))["structuredContent"]
        assert (dry["order"], dry["critical_path"]) == (["a", "c", "d"], ["a", "c", "d"])
        assert ids_in(desk.project.queue) == []
        wrong = await server.call("queue_plan", tasks=[{"ref": "q", "prio": 1}])
        assert wrong["isError"]
        assert "tasks[0] (q).prio: unknown name" in wrong["content"][0]["text"]

        first = (await server.call("queue_plan", tasks=plan))["structuredContent"]
        again = (await server.call("queue_plan", tasks=plan))["structuredContent"]
        assert first["ids"] == again["ids"] == {"a": "1", "b": "2", "c": "2.1", "d": "3"}
        assert "note" in again

        await server.call("cancel_task", task_id="1")
        blocked = await server.call("check_builder_status", task_id="3", wait_seconds=25)
        told = blocked["structuredContent"]
        assert (told["state"], told["cause"]) == ("blocked", "1")
        assert told["cause_reason"] == "failure: cancelled"
        assert "requeue_task 1" in told["next"]
        parent = await server.call("check_builder_status", task_id="2", wait_seconds=25)
        assert parent["structuredContent"]["state"] == "blocked"
        await server.call("requeue_task", task_id="1")
        parent = await server.call("check_builder_status", task_id="2", wait_seconds=25)
        told = parent["structuredContent"]
        assert (told["state"], told["parts"]) == ("queued", {"queued": 1})

        full = (await server.call("get_task", task_id="2"))["structuredContent"]
        assert [row["id"] for row in full["dependencies"]] == ["1"]
        assert full["subtasks"] == [{"id": "2.1", "state": "queued", "title": "Part"}]
        assert full["needed_by"] == ["3"]
        listed = (await server.call("list_tasks", state="queued", limit=2))["structuredContent"]
        assert [row["id"] for row in listed["tasks"]] == ["1", "2"]
        assert "more" in listed
        assert listed["counts"] == {"running": 0, "queued": 4, "blocked": 0, "settled": 0}
        for wanted in ({"role": "tester"}, {"parent": "2"}):
            rows = (await server.call("list_tasks", **wanted))["structuredContent"]["tasks"]
            assert len(rows) == 1, wanted
        assert await server.close() == 0


async def test_the_answer_to_a_plan_of_200_is_small(desk: Desk) -> None:
    plan = [{"ref": f"task-{n}", "title": f"T{n}", "instructions": "x"} for n in range(200)]
    async with RawServer.at(desk, desk.serve) as server:
        await server.initialize()
        await server.call("pause_queue")
        dry = await server.call("queue_plan", tasks=plan, dry_run=True)
        assert len(json.dumps(dry)) < 3000
        made = await server.call("queue_plan", tasks=plan)
        assert len(made["structuredContent"]["ids"]) == 200
        assert len(json.dumps(made)) < 12_000
        assert await server.close() == 0
