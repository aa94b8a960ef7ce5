"""The account, the login or the service refuses: nothing is decided about the task."""

from __future__ import annotations

import json

from examples.scripted_api import Step, error, report
from tests.e2e.architect import Architect
from tests.e2e.desk import Desk, put, until

BILLING = "Your credit balance is too low to access the Anthropic API."
REFUSALS: dict[str, Step] = {
    "login": error(401, "authentication_error", "invalid x-api-key"),
    "credit": error(400, "invalid_request_error", BILLING),
    "rate_limit": error(429, "rate_limit_error", "This would exceed your rate limit"),
    "overload": error(529, "overloaded_error", "Overloaded"),
}


async def test_a_refusal_pauses_the_queue_and_costs_no_attempt(desk: Desk) -> None:
    async with desk.architect() as architect:
        for kind in [*REFUSALS, "not logged in"]:
            await _refused(desk, architect, kind)


async def _refused(desk: Desk, architect: Architect, kind: str) -> None:
    desk.configure(builder={"inherit_api_key": kind in REFUSALS})
    desk.script["Work on"] = [REFUSALS.get(kind, [report()])]
    # With one attempt only, a pause that cost one would be the end.
    task_id = await architect.queue("Work on", title=kind, max_attempts=1)
    paused = await architect.wait(task_id)
    assert paused["state"] == "paused", paused
    assert "end your turn" in paused["next"]
    idle = await architect.call("check_builder_status")
    assert "end your turn" in idle["next"]
    assert idle["waiting"] == 1

    pause = json.loads(desk.project.paused.read_text())
    assert (pause["by"], pause["kind"]) == ("worker", "login" if " " in kind else kind)
    assert pause["reason"] == paused["reason"]
    assert pause["reason"].startswith(f"{pause['kind'].replace('_', ' ')}: ")
    assert ("`/login`, then `loop resume`" in pause["reason"]) is (pause["kind"] == "login")
    waiting = desk.queued(task_id)
    assert waiting["runs"][0]["status"] == "paused"
    assert waiting.get("attempt", 1) == 1
    assert not desk.project.task_file(desk.project.completed, task_id).exists()
    assert list(desk.project.running.iterdir()) == []
    assert len(desk.events("queue_paused")) == int(task_id)
    assert len(desk.events("run_completed")) == int(task_id) - 1

    desk.configure(builder={"inherit_api_key": True})
    desk.script["Work on"] = [[report(summary="Well again.")]]
    await architect.call("resume_queue")
    told = await architect.done(task_id)
    assert (told["status"], told["summary"]) == ("success", "Well again.")
    assert [run.get("attempt", 1) for run in desk.result(task_id)["task"]["runs"]] == [1, 1]
    assert len(desk.events("queue_paused")) == len(desk.events("queue_resumed")) == int(task_id)
    assert not desk.project.paused.exists()


async def test_when_its_time_has_come_the_worker_tries_again_by_itself(desk: Desk) -> None:
    desk.configure(scan_seconds=0.2)
    desk.script["Work on"] = [REFUSALS["overload"]]
    async with desk.architect() as architect:
        task_id = await architect.queue("Work on")
        assert (await architect.wait(task_id))["state"] == "paused"
        desk.script["Work on"] = [[report()]]
        pause = json.loads(desk.project.paused.read_text())
        put(desk.project.paused, json.dumps(pause | {"until": "2026-01-01T00:00:00Z"}))
        await until(lambda: desk.events("queue_resumed") != [], "the worker has lifted its pause")
        told = await architect.done(task_id)
    assert told["status"] == "success"
    assert len(desk.events("run_started")) == 2


async def test_a_pause_of_the_architect_holds_until_it_is_lifted(desk: Desk) -> None:
    desk.script["Work on"] = [[report()]]
    async with desk.architect() as architect:
        await architect.call("pause_queue", reason="The person is thinking.")
        task_id = await architect.queue("Work on")
        paused = await architect.wait(task_id)
        assert (paused["state"], paused["reason"]) == ("paused", "The person is thinking.")
        assert desk.api.requests == []
        await architect.call("resume_queue")
        assert (await architect.done(task_id))["status"] == "success"
    assert desk.event_names() == [
        "queue_paused",
        "task_queued",
        "queue_resumed",
        "run_started",
        "run_completed",
    ]
