"""What answers weigh: bytes of the whole JSON-RPC line, as the client reads it."""

from __future__ import annotations

from benchmarks.client import Client
from benchmarks.figure import Baseline, Figure
from benchmarks.place import CHECKOUT, place, serve_command
from benchmarks.spawning import BARE


def main() -> list[Figure]:
    """An unchanged status while a task runs, and the list of tools."""
    with place() as here, Client(serve_command(here), here.env, CHECKOUT) as client:
        client.initialize()
        tools = client.ask("tools/list", {}).result(30)
        with Client(BARE, here.env, CHECKOUT) as bare:
            bare.initialize()
            bare_tools = bare.ask("tools/list", {}).result(30)
        here.builder.hold()
        task_id = client.call("queue_task", instructions=["Look at it"]).data["id"]
        here.builder.started_ns()
        status = client.call("check_builder_status", task_id=task_id, wait_seconds=0)
        if status.data["state"] != "running":
            raise RuntimeError(f"the task does not run: {status.data}")
        in_full = client.call("get_task", task_id=task_id)
        here.builder.release()
        client.call("check_builder_status", task_id=task_id)
        root = str(here.project.root)
    return [
        Figure(
            what="check_builder_status while nothing changes, one answer",
            unit="bytes",
            samples=[status.size_bytes],
            p50_under=500,
            baseline=Baseline("get_task", [in_full.size_bytes]),
            note=f"The project's path, of {len(root)} characters here, is in it twice.",
        ),
        Figure(
            what=f"tools/list, {len(tools.result['tools'])} tools",
            unit="bytes",
            samples=[tools.size_bytes],
            p50_under=12_288,
            baseline=Baseline("bare server, 1 tool", [bare_tools.size_bytes]),
        ),
    ]
