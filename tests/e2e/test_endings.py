"""Runs that end without success: no report, denials, limits, errors of the API."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from examples.scripted_api import Step, error, hang, reply, report, text, tool
from tests.e2e.desk import Desk


def bash(command: str) -> dict[str, Any]:
    return tool("Bash", command=command, description="a step")


async def test_a_builder_that_never_reports_has_failed(desk: Desk) -> None:
    desk.script["Say hello"] = [[text("Hello.")], [text("Hello again.")]]
    async with desk.architect() as architect:
        told = await architect.done(await architect.queue("Say hello"))
    assert (told["status"], told["reason"]) == ("failure", "no_report")
    assert "Hello again." in told["summary"]
    assert len(desk.events("run_started")) == 1


async def test_in_marker_mode_an_empty_ending_is_no_report(desk: Desk) -> None:
    desk.configure(builder={"report": "marker"})
    desk.script["Look around"] = [[bash("git status")], [text(" ")]]
    async with desk.architect() as architect:
        told = await architect.done(await architect.queue("Look around"))
    assert (told["status"], told["reason"]) == ("failure", "no_report")


async def test_a_denied_tool_with_nothing_changed_is_a_failure_that_names_the_rule(
    desk: Desk,
) -> None:
    calls = [bash("npm run build --silent"), bash("git push origin main")]
    desk.script["Build"] = [*[[call] for call in calls], [report(summary="All is well.")]]
    async with desk.architect() as architect:
        told = await architect.done(await architect.queue("Build"))
    assert (told["status"], told["reason"]) == ("failure", "denied")
    assert desk.result("1")["permission_denials"] == [
        {"tool": "Bash", "input": "npm run build --silent", "rule": "Bash(npm run build --silent)"},
        {"tool": "Bash", "input": "git push origin main", "rule": "", "denied": True},
    ]
    first, second = told["denials"]
    assert "`loop allow 'Bash(npm run build --silent)'` allows it" in first
    assert second.endswith("(denied by your rules)")
    assert first in told["summary"]


async def test_a_denied_tool_beside_changes_is_a_success_with_a_warning(desk: Desk) -> None:
    outside = str(desk.home / "x.txt")
    desk.script["Build"] = [
        [desk.writes("new.txt")],
        [bash("npm test")],
        [tool("Write", file_path=outside, content="x")],
        *desk.notes_the_change(),
        [report(files_changed=["new.txt"])],
    ]
    async with desk.architect() as architect:
        told = await architect.done(await architect.queue("Build"))
    assert told["status"] == "success"
    rules = [denial["rule"] for denial in desk.result("1")["permission_denials"]]
    # Where the Builder edits is a boundary: no rule is recommended.
    assert rules == ["Bash(npm test)", ""]
    assert [warning.split(" (")[0] for warning in told["warnings"]] == [
        "denied: Bash npm test",
        f"denied: Write {outside}",
    ]


async def test_the_turn_limit_is_a_failure_that_keeps_the_work(desk: Desk) -> None:
    desk.script["Work on"] = [[desk.writes(f"{number}.txt")] for number in range(9)]
    async with desk.architect() as architect:
        told = await architect.done(await architect.queue("Work on", max_turns=2))
    assert (told["status"], told["reason"]) == ("failure", "turn_limit")
    assert sorted(told["files_changed"]) == ["0.txt", "1.txt"]
    assert told["commit_hash"] == desk.git("rev-parse", "HEAD").strip()
    assert len(desk.events("run_started")) == 1


async def test_the_budget_is_a_failure_with_what_it_cost(desk: Desk) -> None:
    dear = reply(bash("git status"), usage={"output_tokens": 100_000})
    desk.script["Work on"] = [dear, dear, [report()]]
    async with desk.architect() as architect:
        told = await architect.done(await architect.queue("Work on", max_budget_usd=0.5))
    assert (told["status"], told["reason"]) == ("failure", "budget")
    assert told["cost_usd"] > 0.5
    assert desk.events("run_completed")[0]["cost_usd"] == told["cost_usd"]


#: What the API answers, the reason that is told, the runs it takes.
ERRORS: dict[str, tuple[Step, str, int]] = {
    "500 again": (error(500, "api_error", "Internal server error"), "api_error", 2),
    "404": (error(404, "not_found_error", "model: no-such-model"), "api_error", 1),
    "Too long": (
        error(400, "invalid_request_error", "prompt is too long: 250000 tokens > 200000 maximum"),
        "prompt_too_long",
        1,
    ),
}


async def test_an_error_of_the_api_fails_the_task_at_once_or_after_a_second_run(
    desk: Desk,
) -> None:
    desk.script.update({words: [step] for words, (step, _, _) in ERRORS.items()})
    async with desk.architect() as architect:
        for words, (_, reason, runs) in ERRORS.items():
            task_id = await architect.queue(words)
            told = await architect.done(task_id)
            assert (told["status"], told["reason"]) == ("failure", reason), words
            started, completed = (
                [event for event in desk.events(name) if event["task_id"] == task_id]
                for name in ("run_started", "run_completed")
            )
            assert desk.result(task_id)["runs"] == len(started) == runs, words
            again = [event.get("retry", False) for event in completed]
            assert again == [*[True] * (runs - 1), False], words
        queue = await architect.call("list_tasks")
    assert queue["counts"] == {"running": 0, "queued": 0, "blocked": 0, "settled": 3}
    assert not desk.project.paused.exists()


async def test_a_500_that_passes_is_made_good_by_the_second_run(desk: Desk) -> None:
    gate = threading.Event()
    broken = error(500, "api_error", "Internal server error")
    desk.script["Work on"] = [hang(until=gate, then=broken)]
    async with desk.architect() as architect:
        task_id = await architect.queue("Work on")
        await asyncio.to_thread(desk.api.wait_for_requests, 1)
        desk.script["Work on"] = [[report()]]
        gate.set()
        told = await architect.done(task_id)
    assert told["status"] == "success"
    assert [run.get("attempt", 1) for run in desk.result("1")["task"]["runs"]] == [1, 2]
    assert "Look at what is there" in desk.api.received[-1].prompt
