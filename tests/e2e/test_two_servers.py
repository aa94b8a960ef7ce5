"""Claude Desktop starts every server twice: two of them on one project."""

from __future__ import annotations

import asyncio
import threading

import psutil

from examples.scripted_api import hang, reply, report
from loop.store.project_files import Owner, read_owner
from tests.e2e.architect import Architect
from tests.e2e.desk import Desk, until


def owner_of(desk: Desk) -> Owner | None:
    return read_owner(desk.project)


async def in_order(desk: Desk, *architects: Architect) -> list[Architect]:
    """The owner's first, once there is one."""
    await until(lambda: owner_of(desk) is not None, "a server owns the queue")
    owner = owner_of(desk)
    assert owner is not None
    return sorted(architects, key=lambda architect: architect.pid != owner.pid)


async def test_four_tasks_through_two_servers_run_once_each(desk: Desk) -> None:
    desk.script[""] = [[report(summary="Ran.")]]
    async with desk.architect() as one, desk.architect() as other:
        words = [f"Task with number {n}" for n in range(4)]
        queued = [one.queue(w) if n % 2 else other.queue(w) for n, w in enumerate(words)]
        ids = await asyncio.gather(*queued)
        assert sorted(ids) == ["1", "2", "3", "4"]
        waits = [(other if n % 2 else one).done(task_id) for n, task_id in enumerate(ids)]
        told = await asyncio.gather(*waits)

    assert [result["status"] for result in told] == ["success"] * 4
    for name in ("task_queued", "run_started", "run_completed"):
        assert sorted(event["task_id"] for event in desk.events(name)) == sorted(ids), name
    prompts = [r.prompt for r in desk.api.received if not r.is_side_request]
    assert len(prompts) == 4
    first_lines = [prompt.partition("\n")[0] for prompt in prompts]
    assert [sum(w in line for line in first_lines) for w in words] == [1] * 4
    assert [desk.result(i)["task"]["instructions"][0] for i in ids] == words
    # Never two at once: a run starts when the one before it has ended.
    runs = [name for name in desk.event_names() if name.startswith("run_")]
    assert runs == ["run_started", "run_completed"] * 4


async def test_the_same_submission_through_both_servers_is_one_task(desk: Desk) -> None:
    async with desk.architect() as one, desk.architect() as other:
        await one.call("pause_queue")
        alike = await asyncio.gather(one.queue("Add it"), other.queue("Add it"))
        keyed = await asyncio.gather(*(a.queue("Add more", key="k1") for a in (one, other)))
        refusal = await other.refusal("queue_task", instructions=["Another"], key="k1")
    assert len({*alike}) == len({*keyed}) == 1
    assert refusal.startswith("key: ")
    assert len(desk.events("task_queued")) == 2


async def test_a_result_wakes_those_who_wait_on_the_other_server(desk: Desk) -> None:
    gate = threading.Event()
    desk.script["Work on"] = [hang(until=gate, then=reply(report(summary="Now.")))]
    # Nobody looks by the clock: what wakes the other server is the file system.
    desk.configure(scan_seconds=600)
    async with desk.architect() as one, desk.architect() as two:
        owner, other = await in_order(desk, one, two)
        task_id = await owner.queue("Work on")
        await asyncio.to_thread(desk.api.wait_for_requests, 1)
        async with asyncio.TaskGroup() as group:
            # Each call waits longer than it is given here, so only a wakeup can answer it.
            polls = [
                group.create_task(asyncio.wait_for(poll, 15))
                for poll in (
                    other.call("check_builder_status", wait_seconds=30),
                    owner.call("check_builder_status", task_id=task_id, wait_seconds=30),
                )
            ]
            listed = await other.call("list_tasks", state="running")
            assert [row["id"] for row in listed["tasks"]] == [task_id]
            gate.set()
        answers = [poll.result() for poll in polls]
    assert [answer["state"] for answer in answers] == ["success"] * 2
    assert [answer["results"][0]["summary"] for answer in answers] == ["Now."] * 2


async def test_the_other_server_takes_over_when_the_owner_ends(desk: Desk) -> None:
    desk.script[""] = [[report()]]
    async with desk.architect() as one, desk.architect() as two:
        owner, other = await in_order(desk, one, two)
        assert (await other.done(await other.queue("Before")))["status"] == "success"
        psutil.Process(owner.pid).terminate()
        assert (await other.done(await other.queue("After")))["status"] == "success"
        now = owner_of(desk)
    assert now is not None
    assert now.pid == other.pid
    assert len(desk.events("run_started")) == 2
