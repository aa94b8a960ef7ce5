"""The guard as a hook of the real Claude Code."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from examples.scripted_api import ScriptedAPI, Step, report, text, tool
from loop.core.result import REPORT_SCHEMA
from loop.core.transcript import Transcript
from tests.claude_binary import find_claude
from tests.hooks.guarded import ENTRY, Guarded, hook_command

OLD_ENTRY = "- 2026-07-01: The shop opened."


@pytest.fixture
def project(tmp_path: Path) -> Guarded:
    return Guarded.make(tmp_path)


def settings_of(project: Guarded) -> Path:
    def hook(word: str) -> dict[str, Any]:
        command = shlex.join(hook_command(word))
        return {"hooks": [{"type": "command", "command": command, "timeout": 20}]}

    before_report = hook("report") | {"matcher": "StructuredOutput"}
    hooks = {"PreToolUse": [before_report], "Stop": [hook("stop")]}
    path = project.home / "settings.json"
    path.write_text(json.dumps({"hooks": hooks}), encoding="utf-8")
    return path


def run_claude(
    project: Guarded, steps: Sequence[Step], *options: str
) -> tuple[Transcript, list[dict[str, Any]], dict[str, Any]]:
    """What the run's stream says, the requests of the model, and the result line."""
    command = [
        str(find_claude()), "-p", "--permission-mode", "acceptEdits", "--output-format",
        "stream-json", "--verbose", "--settings", str(settings_of(project)), *options,
    ]  # fmt: skip
    with ScriptedAPI(steps) as api:
        ours = {k: v for k, v in project.env().items() if k not in ("PATH", "HOME")}
        done = subprocess.run(
            command,
            input=b"Task 42: change the program",
            env=api.claude_env(project.home, **ours),
            cwd=project.root,
            capture_output=True,
            timeout=60,
            check=False,
        )
        requests = api.requests
    lines = done.stdout.splitlines()
    transcript = Transcript()
    for line in lines:
        transcript.feed(line)
    assert transcript.ended is not None, done.stderr
    return transcript, requests, json.loads(lines[-1])


def edits_of_the_readme(project: Guarded) -> list[Step]:
    path = str(project.root / "README.md")
    return [
        [tool("Read", file_path=path)],
        [tool("Edit", file_path=path, old_string=OLD_ENTRY, new_string=f"{ENTRY}\n{OLD_ENTRY}")],
    ]


def test_a_refused_report_is_given_again_once_the_readme_has_its_entry(project: Guarded) -> None:
    steps: list[Step] = [
        [tool("Write", file_path=str(project.root / "fresh.py"), content="new\n")],
        [report(summary="First.")],
        *edits_of_the_readme(project),
        [report(summary="Second.")],
    ]
    transcript, requests, result = run_claude(
        project, steps, "--json-schema", json.dumps(REPORT_SCHEMA)
    )
    assert transcript.report is not None
    assert transcript.report["summary"] == "Second."
    assert [denial["tool_name"] for denial in result["permission_denials"]] == ["StructuredOutput"]
    assert "Changed: fresh.py." in json.dumps(requests[2]["messages"][-2:])
    assert ENTRY in (project.root / "README.md").read_text(encoding="utf-8")
    assert project.record is not None
    assert (project.record["refusals"], project.record["gave_up"]) == (1, False)
    assert "trouble" not in project.record


def test_a_question_before_a_blocked_stop_stays_in_the_stream(project: Guarded) -> None:
    project.configure(builder={"report": "marker"})
    steps: list[Step] = [
        [
            text("NEEDS_CLARIFICATION: A or B?"),
            tool("Write", file_path=str(project.root / "fresh.py"), content="new\n"),
        ],
        [text("Wrote it, as A.")],
        *edits_of_the_readme(project),
        [text("Wrote it, as A, and said so.")],
    ]
    transcript, requests, _ = run_claude(project, steps)
    assert transcript.question == "A or B?"
    assert transcript.ended is not None
    assert transcript.ended.text == "Wrote it, as A, and said so."
    assert "Changed: fresh.py." in json.dumps(requests[2]["messages"][-2:])
    assert project.record is not None
    assert (project.record["refusals"], project.record["gave_up"]) == (1, False)
