"""Nothing but JSON-RPC on stdout, in every version of the protocol."""

from __future__ import annotations

import asyncio
import json
import shutil
import threading
from typing import Any

import pytest

from examples.scripted_api import hang, reply, report
from tests.e2e.desk import Desk
from tests.e2e.raw import RawServer

#: Takes in its whole stdin before it does anything, and warns on stderr. In a Builder's run it does
#: not: Claude Code starts git with a stdin that stays open, which is its own business.
GREEDY_GIT = """#!/bin/sh
[ -n "$LOOP_RUN" ] && exec GIT "$@"
taken=$(mktemp)
cat > "$taken"
echo "a warning of git" >&2
GIT "$@" < "$taken"
code=$?
rm -f "$taken"
exit $code
"""
VERSIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]


async def test_every_byte_on_stdout_is_json_rpc(desk: Desk) -> None:
    """A git that would take in the server's stdin, warnings switched on, calls that fail."""
    folder = desk.home / "bin"
    folder.mkdir()
    git = folder / "git"
    git.write_text(GREEDY_GIT.replace("GIT", str(shutil.which("git"))))
    git.chmod(0o755)
    path = f"{folder}:{desk.env['PATH']}"
    desk.script["Add a file"] = [
        [desk.writes("new.txt")],
        *desk.notes_the_change(),
        [report(summary="Line one\nline two\u2028line three")],
    ]
    command = [desk.serve[0], "-W", "always", *desk.serve[1:]]
    async with RawServer.at(desk, command, PATH=path, PYTHONWARNINGS="always") as server:
        await server.initialize()
        tools = await server.ask("tools/list")
        assert len(tools["result"]["tools"]) > 5
        for line in (b"not json", b"{}", b"[]", b"", b'{"jsonrpc":"2.0","id":null}', b"\xff\xfe"):
            await server.send(line)
        lone = b'{"jsonrpc":"2.0","id":900,"method":"tools/call","params":{"name":"queue_task",'
        await server.send(lone + b'"arguments":{"instructions":["\\ud800"]}}}')
        assert "error" in await server.ask("no/such_method")
        assert (await server.call("no_such_tool"))["isError"]
        assert (await server.call("queue_task", instructions=[]))["isError"]
        assert (await server.call("get_task", task_id="99"))["isError"]

        queued = await server.call("queue_task", instructions=["Add a file"])
        assert queued["structuredContent"]["id"] == "1", "the half surrogate pair was refused"
        ended = await server.call("check_builder_status", task_id="1", wait_seconds=25)
        assert ended["structuredContent"]["state"] == "success", ended
        # Something that no tool expects: its answer is an error, not a traceback on stdout.
        desk.project.log("1").unlink()
        desk.project.log("1").mkdir()
        odd = await server.call("get_task", task_id="1", log_tail=100)
        assert odd["isError"]
        assert "\n" not in odd["content"][0]["text"]
        assert await server.close() == 0

    lines = server.output.split(b"\n")
    assert lines.pop() == b""
    assert len(lines) >= 9
    for line in lines:
        message = json.loads(line.decode("utf-8"))
        assert message["jsonrpc"] == "2.0", line
        assert {"result", "error", "method"} & message.keys(), line
    assert desk.git("log", "--format=%s").startswith("Claude Code checkpoint: ")


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_version_of_the_protocol_is_negotiated_and_all_tools_answer(
    desk: Desk, version: str
) -> None:
    async with RawServer.at(desk, desk.serve) as server:
        hello = await server.initialize(version)
        assert hello["protocolVersion"] == version
        assert hello["serverInfo"]["name"] == "architect_watcher_project"
        assert "queue_task" in hello["instructions"]
        tools = (await server.ask("tools/list"))["result"]["tools"]
        assert [tool["name"] for tool in tools[:2]] == ["queue_task", "check_builder_status"]
        await server.call("pause_queue")
        await server.call("queue_task", instructions=["Something"])
        needed: dict[str, dict[str, Any]] = {
            "queue_task": {"instructions": ["Something else"]},
            "queue_plan": {"tasks": [{"ref": "a", "instructions": ["Planned"]}]},
            "edit_task": {"task_id": "1", "title": "Another"},
            "escalate_to_user": {"task_id": "1", "question": "May it?"},
        }
        for tool in tools:
            name = tool["name"]
            arguments = needed.get(name, {"task_id": "1"} if "task_id" in str(tool) else {})
            if name == "check_builder_status":
                arguments = {"task_id": "1", "wait_seconds": 0}
            answer = await server.call(name, **arguments)
            words = answer["content"][0]["text"]
            assert words, name
            assert "unexpected" not in words, (name, words)
        assert await server.close() == 0


async def test_an_unknown_version_is_answered_with_one_that_is_known(desk: Desk) -> None:
    async with RawServer.at(desk, desk.serve) as server:
        assert (await server.initialize("1999-01-01"))["protocolVersion"] in VERSIONS
        assert await server.close() == 0


@pytest.mark.parametrize("mode", ["auto", "2026-07-28"])
async def test_the_stateless_protocol_of_2026_works_from_queueing_to_the_result(
    desk: Desk, mode: str
) -> None:
    desk.script["Work on"] = [[report(summary="Done without a handshake.")]]
    async with desk.architect(mode=mode) as architect:
        assert architect.client.protocol_version == "2026-07-28"
        offered = await architect.client.list_tools()
        assert len(offered.tools) > 5
        told = await architect.done(await architect.queue("Work on"))
        assert "instructions" in await architect.refusal("queue_task")
    assert (told["status"], told["summary"]) == ("success", "Done without a handshake.")


async def test_a_long_poll_that_is_cancelled_is_not_answered_and_cancels_nothing(
    desk: Desk,
) -> None:
    gate = threading.Event()
    desk.script["Work on"] = [hang(until=gate, then=reply(report()))]
    poll = {"name": "check_builder_status", "arguments": {"task_id": "1", "wait_seconds": 30}}
    async with RawServer.at(desk, desk.serve) as server:
        await server.initialize()
        await server.call("queue_task", instructions=["Work on"])
        await asyncio.to_thread(desk.api.wait_for_requests, 1)
        request = {"jsonrpc": "2.0", "id": 77, "method": "tools/call", "params": poll}
        await server.send(json.dumps(request).encode())
        await server.call("list_tasks")
        await server.notify("notifications/cancelled", requestId=77)
        await server.call("list_tasks")
        gate.set()
        ended = await server.call("check_builder_status", task_id="1", wait_seconds=25)
        assert ended["structuredContent"]["state"] == "success", ended
        assert await server.close() == 0
    answered = [json.loads(line).get("id") for line in server.output.split(b"\n") if line]
    assert 77 not in answered
