"""What `loop init` writes, read by the real Claude Code: in a Builder's run, and in a person's own
session in the same folder."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from examples.scripted_api import Block, ScriptedAPI, report, text, tool
from loop.builder.permissions import approved
from loop.setup.init import InitReport, initialise
from tests.claude_binary import find_claude
from tests.installed_python import installed_python

EXAMPLE = Path(__file__).parents[2] / "examples" / "salesforce"
NOW = datetime(2026, 7, 23, 10, 0, tzinfo=UTC)
#: What `CLAUDE.md` says to every session, and to none that did not read it.
IN_CLAUDE_MD = "When you run as the Builder"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the interpreter is a shell script")


@dataclass(frozen=True)
class Machine:
    """A person's machine: a home folder, an installed `loop`, and a project that was set up."""

    home: Path
    root: Path
    #: a line for each call of our hooks: LOOP_RUN and the arguments
    calls: Path
    report: InitReport

    def claude(self, calls: list[Block], *options: str, last: Block, **env: str) -> Session:
        """Have the real Claude Code make these calls one by one, and then the last block."""
        steps = [[call | {"id": f"call_{number}"}] for number, call in enumerate(calls)]
        with ScriptedAPI([*steps, [last]]) as api:
            ended = subprocess.run(
                [str(find_claude()), "-p", "--output-format=stream-json", "--verbose",
                 "--max-turns=20", *options],
                input="Do it.",
                cwd=self.root,
                env=api.claude_env(self.home, **env),
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )  # fmt: skip
            requests = [request.body for request in api.received if not request.is_side_request]
        lines = [json.loads(line) for line in ended.stdout.splitlines()]
        return Session(ended.returncode, ended.stderr, lines[-1], json.dumps(requests))

    def calls_of_hooks(self) -> list[str]:
        return self.calls.read_text().splitlines() if self.calls.exists() else []


@dataclass(frozen=True)
class Session:
    exit: int
    stderr: str
    result: dict[str, Any]
    requests: str

    @property
    def denied(self) -> list[str]:
        return [denial["tool_name"] for denial in self.result["permission_denials"]]


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    tmp_path = tmp_path.resolve()
    home, root, calls = tmp_path / "home", tmp_path / "a project", tmp_path / "calls"
    (home / ".config" / "Claude").mkdir(parents=True)
    shutil.copytree(EXAMPLE, root)
    # The folder where approvals lie comes from the environment of this process.
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    for command in (
        ["git", "init", "--quiet"],
        ["git", "config", "user.name", "Test"],
        ["git", "config", "user.email", "test@example.invalid"],
        ["git", "add", "."],
        ["git", "commit", "--quiet", "--message=first"],
    ):
        subprocess.run(command, cwd=root, stdin=subprocess.DEVNULL, check=True, timeout=20)
    python = tmp_path / "my tools" / "python"
    python.parent.mkdir()
    installed = installed_python(tmp_path / "venv")
    python.write_text(f"#!/bin/sh\necho \"$LOOP_RUN $*\" >> '{calls}'\nexec '{installed}' \"$@\"\n")
    python.chmod(0o755)
    made = initialise(root, env={"HOME": str(home)}, python=python, now=NOW, platform="linux")
    return Machine(home, root, calls, made)


def write(path: Path) -> Block:
    return tool("Write", file_path=str(path), content="new\n")


def test_a_builder_gets_our_rules_and_both_hooks_fire(machine: Machine) -> None:
    run = str(uuid.uuid4())
    session = machine.claude(
        [write(machine.root / "new.txt"), write(machine.root / ".ai" / "queue" / "0001.json")],
        "--permission-mode=dontAsk",
        f"--settings={approved(machine.report.project)}",
        f"--json-schema={json.dumps({'type': 'object', 'properties': {'outcome': {}}})}",
        last=report(),
        LOOP_RUN=run,
    )
    assert session.stderr == ""
    assert session.exit == 0
    assert session.result["structured_output"]["outcome"] == "done"
    assert session.denied == ["Write"]
    assert (machine.root / "new.txt").exists()
    assert list((machine.root / ".ai" / "queue").iterdir()) == []
    assert IN_CLAUDE_MD in session.requests
    assert machine.calls_of_hooks() == [
        f"{run} -I -m loop.hooks.entry report",
        f"{run} -I -m loop.hooks.entry stop",
    ]


@pytest.mark.parametrize(("rule", "refused"), [("allow", False), ("deny", True)])
def test_a_persons_own_session_there_follows_their_own_rules_and_no_hook_of_ours(
    machine: Machine, rule: str, refused: bool
) -> None:
    settings = machine.home / ".claude" / "settings.json"
    settings.parent.mkdir()
    rules = [f"Edit(/{machine.root}/**)", "Bash(sf org list)"]
    settings.write_text(json.dumps({"permissions": {rule: rules}}))
    # The second and the third are denied to a Builder, the first is allowed.
    targets = [machine.root / "new.txt", machine.root / ".ai" / "queue" / "0001.json"]
    called = [*map(write, targets), tool("Bash", command="sf org list", description="look")]

    session = machine.claude(called, last=text("Done."))
    assert session.stderr == ""
    assert session.exit == 0
    assert session.denied == (["Write", "Write", "Bash"] if refused else [])
    assert [target.exists() for target in targets] == [not refused] * 2
    assert IN_CLAUDE_MD in session.requests
    assert machine.calls_of_hooks() == []


def test_git_sees_only_what_is_the_projects(machine: Machine) -> None:
    listed = subprocess.run(
        ["git", "status", "--porcelain", "-uall"],
        cwd=machine.root,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
        timeout=20,
    ).stdout.splitlines()
    # The example has a README of its own, with its recent changes: it stays as it is.
    assert sorted(listed) == [" M .gitignore", "?? .ai/config.json", "?? CLAUDE.md"]
