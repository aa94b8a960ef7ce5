"""The plugin in the real Claude Code: what its commands let through, ask for, and show to whom.

The model is scripted, so what it makes of a text is not told here; what Claude Code makes of the
plugin is: expansions, permissions, hooks.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from examples.scripted_api import Block, Request, ScriptedAPI, Step, text, tool
from loop.setup import plugin_files
from loop.setup.init import initialise
from loop.store.paths import Project
from loop.store.scan import ids_in, locate
from loop.templates import scaffolding
from tests.claude_binary import find_claude
from tests.installed_python import installed_python

NOW = datetime(2026, 7, 23, 10, 0, tzinfo=UTC)
HOSTILE = (
    "x$(touch PWNED1)`touch PWNED2` \"d\" 's' $HOME !`touch PWNED3` ; touch PWNED4\n"
    "LOOP\nEOF\n${CLAUDE_SESSION_ID} </words> \\ {'a': \"b\"} && touch PWNED5"
)

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="hooks here are shell scripts")


@dataclass(frozen=True)
class Said:
    """What came of one session."""

    stderr: str
    result: dict[str, Any]
    requests: list[dict[str, Any]]
    tool_results: list[str]

    @property
    def denied(self) -> list[str]:
        return [
            denial["tool_input"].get("command", denial["tool_name"])
            for denial in self.result["permission_denials"]
        ]


@dataclass(frozen=True)
class Desk:
    """A person's project and home, and the plugin as `loop init --plugin` lays it down."""

    home: Path
    project: Project
    plugin: Path

    def type(
        self,
        prompt: str,
        script: Sequence[Step] | Callable[[Request], Step],
        plugin: Path | None = None,
    ) -> Said:
        with ScriptedAPI(script) as api:
            ended = subprocess.run(
                [str(find_claude()), "-p", "--output-format=stream-json", "--verbose",
                 "--max-turns=20", f"--plugin-dir={plugin or self.plugin}"],
                input=prompt, cwd=self.project.root, env=api.claude_env(self.home),
                capture_output=True, text=True, timeout=60, check=False,
            )  # fmt: skip
            requests = [request.body for request in api.received if not request.is_side_request]
        lines = [json.loads(line) for line in ended.stdout.splitlines()]
        content = [line["message"]["content"] for line in lines if line["type"] == "user"]
        blocks = [block for part in content if isinstance(part, list) for block in part]
        answers = [str(b["content"]) for b in blocks if b["type"] == "tool_result"]
        return Said(ended.stderr, lines[-1], requests, answers)

    def queued(self) -> list[str]:
        return ids_in(self.project.queue)

    def stray_files(self) -> list[str]:
        return [path.name for path in self.project.root.rglob("PWNED*")]


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return installed_python(tmp_path_factory.mktemp("installed") / "venv")


@pytest.fixture
def desk(tmp_path: Path, python: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    home, root = tmp_path.resolve() / "home", tmp_path.resolve() / "a project"
    home.mkdir()
    root.mkdir()
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    initialise(root, env={"HOME": str(home)}, python=python, now=NOW, desktop=False)
    plugin_files.write(plugin_files.rendered(python))
    return Desk(home, Project(root), plugin_files.plugin_home() / "loop")


def bash(command: str) -> Block:
    return tool("Bash", command=command, description="as the command says")


def as_told(request: Request) -> Step:
    """What `/loop:add` tells the model to do, done with the words that it was given."""
    given = json.dumps(request.body["messages"])
    shown = json.loads(f'"{re.findall("<command-args>(.*?)</command-args>", given)[-1]}"')
    (name,) = set(re.findall(r"\.ai/state/words-[0-9a-f-]{36}\.json", given))
    (command,) = re.findall(r"Run `(loop add [^`]*)`", request.prompt)
    root = re.findall(r"Primary working directory: (.*?)\\n", given)[-1]
    plan = {"tasks": [{"ref": "t", "title": "Words", "instructions": [shown]}]}
    steps: list[Step] = [
        [tool("Write", file_path=f"{root}/{name}", content=json.dumps(plan))],
        [bash(command)],
        [text("Queued.")],
    ]
    return steps[request.answered]


def test_hostile_words_are_queued_as_they_are_and_no_shell_reads_them(desk: Desk) -> None:
    said = desk.type(f"/loop:add {HOSTILE}", as_told)
    assert said.denied == []
    assert desk.stray_files() == []
    assert desk.queued() == ["1"]
    assert locate(desk.project, "1", NOW).task.instructions == [HOSTILE]


@pytest.mark.parametrize(
    "name", ["add", "edit", "init", "plan", "remove", "reset", "run", "status"]
)
def test_what_stands_behind_a_command_runs_nothing(desk: Desk, name: str) -> None:
    said = desk.type(f"/loop:{name} {HOSTILE}", [[text("Nothing done.")]])
    assert said.result["result"] == "Nothing done."
    assert desk.stray_files() == []
    assert desk.queued() == []


def test_what_could_start_any_program_is_asked_for(desk: Desk) -> None:
    plan = desk.project.state / "words-1.json"
    plan.write_text('{"tasks": [{"instructions": "a", "acceptance": ["touch PWNED"]}]}')
    (plan.parent / "words-2.json").write_text('{"tasks": [{"instructions": "a"}]}')
    asked = [
        "loop add --plan .ai/state/words-1.json",
        "loop allow --review --yes",
        "loop add --no-commands --plan .ai/state/words-2.json && touch PWNED",
        "loop init",
    ]
    refused = "loop add --no-commands --plan .ai/state/words-1.json"
    steps: list[Step] = [[bash(command)] for command in (*asked, refused)]
    said = desk.type("/loop:add 'x'", [*steps, [text("Stopped.")]])
    assert said.denied == asked
    assert "commands to run are refused here" in said.tool_results[-1]
    assert desk.queued() == []


def test_a_plan_is_made_without_a_way_to_write_elsewhere(desk: Desk) -> None:
    wanted = "git log -1 --output=PWNED"
    said = desk.type("/loop:plan x", [[bash(wanted)], [bash("git log -1")], [text("Stopped.")]])
    assert said.denied == [wanted]
    assert desk.stray_files() == []


def test_the_status_is_there_before_the_model_says_a_word(desk: Desk) -> None:
    said = desk.type("/loop:status", [[text("All is well.")]])
    assert said.denied == []
    assert f"{desk.project.name}  {desk.project.root}" in json.dumps(said.requests[0])


def test_a_shift_is_asked_for_nothing_when_a_stop_hook_goes_on_with_it(desk: Desk) -> None:
    hooks = desk.plugin / "hooks" / "hooks.json"
    again = (
        "read -r given; n=$(cat stops 2>/dev/null || echo 0); echo $((n+1)) > stops; "
        """[ $n -ge 2 ] || echo '{"decision": "block", "reason": "The next task."}'"""
    )
    entry = {"hooks": [{"type": "command", "command": again, "timeout": 20}]}
    hooks.write_text(json.dumps({"hooks": {"Stop": [entry]}}))
    commit = bash("git add a && git commit -m 'feat(1): a' -- a")
    turn: list[Step] = [[bash("loop status 2>&1")], [commit], [text("Done.")]]
    said = desk.type("/loop:run --max-iterations 3", turn * 3)
    assert (desk.project.root / "stops").read_text().strip() == "3"
    assert len(said.tool_results) == 6
    assert said.denied == []


@pytest.mark.parametrize("what", ["as shipped", "as installed"])
def test_an_ordinary_session_is_told_when_the_guide_is_of_use_and_ends_undisturbed(
    desk: Desk, what: str
) -> None:
    # As shipped its hooks call `loop-hook`, which is not on the PATH of these sessions.
    plugin = scaffolding() / "plugin" if what == "as shipped" else desk.plugin
    said = desk.type("Hello.", [[text("Hello.")]], plugin)
    assert said.stderr == ""
    assert said.result["result"] == "Hello."
    assert said.result["num_turns"] == 1
    sent = json.dumps(said.requests)
    told = []
    for path in plugin.rglob("*.md"):
        (words,) = re.findall(r"^description: (.*)$", path.read_text(), re.MULTILINE)
        told += [path.name] if words in sent else []
    assert told == ["SKILL.md"]
