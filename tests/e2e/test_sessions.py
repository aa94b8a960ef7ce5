"""Running a task again: in the Builder's own session, or afresh."""

from __future__ import annotations

import pytest

from examples.scripted_api import Request, reply, report, text
from tests.e2e.desk import Desk


def conversation(request: Request) -> str:
    """All texts of a request, in order."""
    contents = [message["content"] for message in request.body["messages"]]
    blocks = [block for content in contents if isinstance(content, list) for block in content]
    texts = [content for content in contents if isinstance(content, str)]
    return "\n".join([*texts, *(block["text"] for block in blocks if block["type"] == "text")])


async def test_an_answered_question_goes_on_in_the_same_session(desk: Desk) -> None:
    asks = [text("I read the flow, it has 7 steps."), report("needs_input", question="A or B?")]
    desk.script["Change the flow"] = [asks]
    async with desk.architect() as architect:
        task_id = await architect.queue("Change the flow")
        await architect.done(task_id)
        session = desk.result(task_id)["session_id"]

        desk.script["Change the flow"] = [reply(report(), usage={"output_tokens": 9_000})]
        await architect.call("requeue_task", task_id=task_id, guidance="Take B, please.")
        told = await architect.done(task_id)

    result = desk.result(task_id)
    assert (told["status"], result["session_id"]) == ("success", session)
    first, second = [r for r in desk.api.received if not r.is_side_request]
    assert "it has 7 steps" in conversation(second)
    assert first.prompt.strip() in conversation(second)
    assert "Take B, please." in second.prompt
    assert "Earlier runs of this task" not in second.prompt

    # Claude Code counts a session's cost together; a run's cost is its own.
    totals = [line["total_cost_usd"] for line in desk.stream(task_id) if line["type"] == "result"]
    costs = [run["cost"] for run in result["task"]["runs"]]
    assert costs == [pytest.approx(totals[0]), pytest.approx(totals[1] - totals[0])]
    assert costs[1] > costs[0] > 0
    assert result["cost_usd"] == pytest.approx(totals[1])
    assert [e["cost_usd"] for e in desk.events("run_completed")] == costs
    assert [run["number"] for run in result["task"]["runs"]] == [1, 2]


async def test_fresh_begins_a_new_session_with_the_history_in_the_prompt(desk: Desk) -> None:
    desk.script["Change the flow"] = [
        [text("I read the flow, it has 7 steps."), report("failed", summary="Flow X is gone.")]
    ]
    async with desk.architect() as architect:
        task_id = await architect.queue("Change the flow")
        failed = await architect.done(task_id)
        first = desk.result(task_id)
        desk.script["Change the flow"] = [[report()]]
        await architect.call("requeue_task", task_id=task_id, guidance="Use flow Y.", fresh=True)
        told = await architect.done(task_id)

    assert (failed["status"], failed["reason"]) == ("failure", "reported")
    result = desk.result(task_id)
    assert told["status"] == "success"
    assert result["session_id"] != first["session_id"]
    second = [r for r in desk.api.received if not r.is_side_request][1]
    assert "it has 7 steps" not in conversation(second)
    for words in (
        "Earlier runs of this task",
        "failure (reported): Flow X is gone.",
        "Use flow Y.",
    ):
        assert words in second.prompt
    costs = [run["cost"] for run in result["task"]["runs"]]
    assert result["cost_usd"] == pytest.approx(sum(costs))


async def test_a_third_run_in_one_session_is_charged_for_itself_alone(desk: Desk) -> None:
    desk.script["Work on"] = [[report("needs_input", question="More?")]]
    async with desk.architect() as architect:
        task_id = await architect.queue("Work on")
        await architect.done(task_id)
        for answer in ("yes", "and more"):
            await architect.call("requeue_task", task_id=task_id, guidance=answer)
            await architect.done(task_id)
    result = desk.result(task_id)
    runs = result["task"]["runs"]
    assert len({run["session"] for run in runs}) == 1
    assert [run["cost"] for run in runs] == [pytest.approx(runs[0]["cost"])] * 3
    totals = [line["total_cost_usd"] for line in desk.stream(task_id) if line["type"] == "result"]
    assert result["cost_usd"] == pytest.approx(totals[-1])


async def test_a_session_whose_transcript_is_gone_is_begun_anew(desk: Desk) -> None:
    desk.script["Work on"] = [[report("needs_input", question="A or B?")]]
    async with desk.architect() as architect:
        task_id = await architect.queue("Work on")
        await architect.done(task_id)
        first = desk.result(task_id)["session_id"]
        (transcript,) = (desk.home / ".claude" / "projects").glob(f"*/{first}.jsonl")
        transcript.unlink()
        desk.script["Work on"] = [[report()]]
        await architect.call("requeue_task", task_id=task_id, guidance="B")
        told = await architect.done(task_id)
    assert told["status"] == "success"
    assert desk.result(task_id)["session_id"] != first
    assert "needs_input (needs_input): A or B?" in desk.api.received[-1].prompt
