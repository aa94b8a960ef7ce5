"""Wrong arguments of every tool: one line that names the field, and nothing changed on disk."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.desk import Desk, until

LONG = "x" * 100_001

#: For each tool what the answer must name, and the arguments.
#: Task 1 is queued, task 2 was cancelled, 99 does not exist.
WRONG: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "queue_task": [
        ("instructions", {}),
        ("instructions", {"instructions": None}),
        ("instructions", {"instructions": []}),
        ("instructions", {"instructions": ""}),
        ("instructions", {"instructions": ["  ", "\n"]}),
        ("instructions", {"instructions": [{"text": "x"}]}),
        ("instructions", {"instructions": {"0": "x"}}),
        ("instructions", {"instructions": ["nul \0"]}),
        ("instructions", {"instructions": ["x"] * 1001}),
        ("bogus", {"instructions": ["x"], "bogus": 1}),
        ("id", {"instructions": ["x"], "id": "7"}),
        ("runs", {"instructions": ["x"], "runs": []}),
        ("title", {"instructions": ["x"], "title": ""}),
        ("title", {"instructions": ["x"], "title": ["t"]}),
        ("title", {"instructions": ["x"], "title": "nul \0"}),
        ("target", {"instructions": ["x"], "target": "x" * 5000}),
        ("type", {"instructions": ["x"], "type": ""}),
        ("priority", {"instructions": ["x"], "priority": "urgent"}),
        ("priority", {"instructions": ["x"], "priority": 1.5}),
        ("priority", {"instructions": ["x"], "priority": 10**9}),
        ("role", {"instructions": ["x"], "role": ""}),
        ("acceptance_criteria", {"instructions": ["x"], "acceptance_criteria": "one"}),
        ("acceptance_criteria", {"instructions": ["x"], "acceptance_criteria": [1]}),
        ("acceptance", {"instructions": ["x"], "acceptance": {"run": "x"}}),
        ("notes", {"instructions": ["x"], "notes": LONG}),
        ("timeout_minutes", {"instructions": ["x"], "timeout_minutes": 0}),
        ("timeout_minutes", {"instructions": ["x"], "timeout_minutes": "soon"}),
        ("timeout_minutes", {"instructions": ["x"], "timeout_minutes": "inf"}),
        ("max_turns", {"instructions": ["x"], "max_turns": 0}),
        ("max_turns", {"instructions": ["x"], "max_turns": 2.5}),
        ("max_budget_usd", {"instructions": ["x"], "max_budget_usd": -1}),
        ("max_budget_usd", {"instructions": ["x"], "max_budget_usd": "nan"}),
        ("max_attempts", {"instructions": ["x"], "max_attempts": 21}),
        ("model", {"instructions": ["x"], "model": ""}),
        ("key", {"instructions": ["x"], "key": ""}),
        ("key", {"instructions": ["x"], "key": {}}),
    ],
    "check_builder_status": [
        ("task_id", {"task_id": "../queue/0001"}),
        ("task_id", {"task_id": "0"}),
        ("task_id", {"task_id": ""}),
        ("task_id", {"task_id": "1."}),
        ("task_id", {"task_id": "٣"}),
        ("task_id", {"task_id": [1]}),
        ("task_id", {"task_id": -1}),
        ("99", {"task_id": "99"}),
        ("wait_seconds", {"wait_seconds": "long"}),
        ("wait_seconds", {"wait_seconds": "nan"}),
        ("bogus", {"bogus": 1}),
    ],
    "get_task": [
        ("task_id", {}),
        ("task_id", {"task_id": "one"}),
        ("task_id", {"task_id": None}),
        ("99", {"task_id": 99}),
        ("log_tail", {"task_id": "1", "log_tail": "all"}),
        ("bogus", {"task_id": "1", "bogus": 1}),
    ],
    "list_tasks": [
        ("state", {"state": "done"}),
        ("state", {"state": 5}),
        ("limit", {"limit": "many"}),
        ("bogus", {"bogus": 1}),
    ],
    "requeue_task": [
        ("task_id", {}),
        ("task_id", {"task_id": "2;1"}),
        ("99", {"task_id": "99"}),
        ("queued", {"task_id": "1", "guidance": "again"}),
        ("guidance", {"task_id": "2", "guidance": 5}),
        ("guidance", {"task_id": "2", "guidance": "nul \0"}),
        ("fresh", {"task_id": "2", "fresh": "perhaps"}),
        ("from_user", {"task_id": "2", "from_user": []}),
        ("instructions", {"task_id": "2", "instructions": []}),
        ("max_turns", {"task_id": "2", "max_turns": 0}),
        ("bogus", {"task_id": "2", "bogus": 1}),
    ],
    "escalate_to_user": [
        ("question", {"task_id": "2"}),
        ("question", {"task_id": "2", "question": "  "}),
        ("question", {"task_id": "2", "question": "nul \0"}),
        ("options", {"task_id": "2", "question": "May it?", "options": "yes"}),
        ("task_id", {"question": "May it?"}),
        ("99", {"task_id": "99", "question": "May it?"}),
        ("bogus", {"task_id": "2", "question": "May it?", "bogus": 1}),
    ],
    "edit_task": [
        ("task_id", {}),
        ("field", {"task_id": "1"}),
        ("99", {"task_id": "99", "title": "t"}),
        ("failure", {"task_id": "2", "title": "t"}),
        ("instructions", {"task_id": "1", "instructions": [" "]}),
        ("priority", {"task_id": "1", "priority": "urgent"}),
        ("timeout_minutes", {"task_id": "1", "timeout_minutes": -3}),
        ("key", {"task_id": "1", "key": "k"}),
    ],
    "cancel_task": [
        ("task_id", {}),
        ("task_id", {"task_id": "all"}),
        ("99", {"task_id": "99"}),
        ("bogus", {"task_id": "1", "bogus": 1}),
    ],
    "pause_queue": [
        ("reason", {"reason": ""}),
        ("reason", {"reason": 5}),
        ("reason", {"reason": "nul \0"}),
        ("bogus", {"bogus": 1}),
    ],
    "resume_queue": [("bogus", {"bogus": 1})],
    "show_timeline": [
        ("limit", {"limit": "many"}),
        ("task_id", {"task_id": "one"}),
        ("task_id", {"task_id": {}}),
        ("bogus", {"bogus": 1}),
    ],
}


def all_files(root: Path) -> dict[str, str]:
    """Each file of the project with a hash of what it holds."""
    files = (path for path in root.rglob("*") if path.is_file() and ".git" not in path.parts)
    return {
        str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files
    }


@pytest.mark.parametrize("paused", [True, False])
async def test_wrong_arguments_are_refused_in_one_line_and_change_nothing(
    desk: Desk, paused: bool
) -> None:
    """Once with a pause in force and once without, so that pausing shows if it happens."""
    async with desk.architect() as architect:
        await architect.call("pause_queue")
        assert await architect.queue("Wait here") == "1"
        assert await architect.queue("Never run") == "2"
        await architect.call("cancel_task", task_id="2")
        if not paused:
            # Without `claude` nothing is claimed; the worker has said so by its own pause.
            desk.configure(builder={"command": "/no/such/claude"})
            await architect.call("resume_queue")
        await architect.wait("1")
        await until(desk.project.paused.exists, "the pause is written")
        offered = [tool.name for tool in (await architect.client.list_tools()).tools]
        before = all_files(desk.root)
        complaints = []
        for name, rows in WRONG.items():
            assert name in offered
            for field, arguments in rows:
                answer = await architect.client.call_tool(name, arguments)
                said = "".join(getattr(block, "text", "") for block in answer.content)
                if not answer.is_error or field not in said or "\n" in said or len(said) > 600:
                    complaints.append((name, field, arguments, said))
                if "unexpected" in said:
                    complaints.append((name, field, arguments, said))
        after = all_files(desk.root)
    assert complaints == []
    assert after == before
