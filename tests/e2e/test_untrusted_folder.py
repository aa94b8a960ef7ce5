"""A folder that nobody has trusted, and tools that would lead the work out of it."""

from __future__ import annotations

import json
from pathlib import Path

from examples.scripted_api import report, tool
from tests.e2e.desk import Desk

PROJECT_SETTINGS = json.dumps({"permissions": {"allow": ["Bash(npm *)", "WebFetch"]}})


async def test_only_our_rules_count_in_a_folder_with_rules_of_its_own(
    tmp_path: Path, python: Path
) -> None:
    with Desk.at(tmp_path, python, files={".claude/settings.json": PROJECT_SETTINGS}) as desk:
        desk.script["Add a file"] = [
            [tool("Bash", command="npm test")],
            [desk.writes("new.txt")],
            *desk.notes_the_change(),
            [tool("Bash", command="git add -A && git commit -m 'feat(1): Add'")],
            [report()],
        ]
        async with desk.architect() as architect:
            told = await architect.done(await architect.queue("Add a file"))
        assert told["status"] == "success"
        assert [denial["input"] for denial in desk.result("1")["permission_denials"]] == [
            "npm test"
        ]
        assert desk.git("log", "--format=%s").splitlines()[0] == "feat(1): Add"
        assert "has not been trusted" in desk.project.err("1").read_text()


async def test_tools_that_lead_out_of_the_run_are_not_there(desk: Desk) -> None:
    elsewhere = [
        tool("EnterWorktree", name="aside"),
        tool("CronCreate", cron="* * * * *", prompt="again"),
        tool("ScheduleWakeup", delaySeconds=60, prompt="again", reason="later"),
        tool("WebFetch", url="http://127.0.0.1:9/", prompt="read"),
        tool("AskUserQuestion", questions=[]),
    ]
    background = tool("Bash", command="git status", run_in_background=True, description="later")
    desk.script["Go"] = [*[[call] for call in elsewhere], [background], [report()]]
    async with desk.architect() as architect:
        told = await architect.done(await architect.queue("Go"))

    assert (told["status"], told["reason"]) == ("success", "success")
    answers = desk.tool_answers("1")
    refused = [f"No such tool available: {call['name']}" in said
               for call, said in zip(elsewhere, answers, strict=False)]  # fmt: skip
    assert refused == [True] * len(elsewhere), answers
    assert "running in background" not in answers[len(elsewhere)]
    # One result line: nothing was pending when the report came.
    assert [line["type"] for line in desk.stream("1")].count("result") == 1
    assert len(desk.git("worktree", "list").splitlines()) == 1
    assert desk.git("branch", "--format=%(refname:short)").split() == ["main"]
    assert not (desk.root / ".claude").exists()
    assert desk.processes() == []
    (init,) = [line for line in desk.stream("1") if line.get("subtype") == "init"]
    offered = "Bash Edit Glob Grep NotebookEdit Read Skill StructuredOutput Task Write"
    assert sorted(init["tools"]) == offered.split()
