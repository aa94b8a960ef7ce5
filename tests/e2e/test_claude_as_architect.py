"""The real Claude Code as the MCP client, in Claude Desktop's place."""

from __future__ import annotations

import asyncio
import json

from examples.scripted_api import report, text, tool
from tests.claude_binary import find_claude
from tests.e2e.desk import Desk

SERVER = "architect_watcher_project"


async def test_claude_code_queues_a_task_waits_for_it_and_reads_the_result(desk: Desk) -> None:
    desk.script["Plan the work"] = [
        [tool(f"mcp__{SERVER}__queue_task", instructions=["Add a file"], title="A file")],
        [tool(f"mcp__{SERVER}__check_builder_status", task_id="1")],
        [text("It is done.")],
    ]
    desk.script["Add a file"] = [
        [desk.writes("new.txt")],
        *desk.notes_the_change(),
        [report(summary="The Builder added it.")],
    ]
    server = {"command": desk.serve[0], "args": desk.serve[1:], "env": desk.env}
    config = desk.home / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {SERVER: server}}))
    chat = desk.home / "chat"
    chat.mkdir()
    process = await asyncio.create_subprocess_exec(
        find_claude(),
        "-p",
        f"--mcp-config={config}",
        "--strict-mcp-config",
        f"--allowedTools=mcp__{SERVER}__*",
        "--output-format=stream-json",
        "--verbose",
        cwd=chat,
        env=desk.env,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        out, err = await asyncio.wait_for(process.communicate(b"Plan the work."), 45)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, err.decode()

    lines = [json.loads(line) for line in out.splitlines()]
    (init,) = [line for line in lines if line.get("subtype") == "init"]
    assert init["mcp_servers"][0]["status"] in ("connected", "pending")
    assert lines[-1]["result"] == "It is done."
    assert lines[-1]["permission_denials"] == []
    # What the Architect's model was told by the tools.
    told = json.dumps(desk.api.requests[-1]["messages"], ensure_ascii=False)
    assert "call check_builder_status" in told
    assert "The Builder added it." in told
    result = desk.result("1")
    assert (result["status"], result["task"]["author"]) == ("success", "architect")
    assert result["session_id"] != lines[-1]["session_id"]
    assert (desk.root / "new.txt").exists()
    assert list(chat.iterdir()) == []
