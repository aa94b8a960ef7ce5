"""The Builder's settings on the real Claude Code: what they let through, and what they keep out."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from examples.scripted_api import Block, ScriptedAPI, report, text, tool
from loop.setup.builder_settings import builder_settings
from tests.claude_binary import find_claude

TEMPLATE = Path(__file__).parents[2] / "scaffolding" / "builder.settings.json"

#: An ordinary name, and one full of characters that mean something in a rule.
FOLDERS = ["project", "a [b]* (c) {d,e} !f #g é"]


@dataclass(frozen=True)
class Place:
    """A project in a git repository, beside a home folder and a neighbour."""

    root: Path
    home: Path
    outside: Path
    settings: Path
    hooks_called: Path

    @classmethod
    def make(cls, parent: Path, folder: str = "project", *, allow: Sequence[str] = ()) -> Place:
        """`allow`: rules that the person added."""
        parent = parent.resolve()
        place = cls(
            parent / folder,
            parent / "home",
            # What the odd folder's name would match as a pattern.
            parent / "a bZ (c) d !f #g é",
            parent / "settings.json",
            parent / "hooks called",
        )
        for made in (place.root / ".ai", place.root / ".claude", place.home, place.outside):
            made.mkdir(parents=True)
        secret = place.home / ".ssh" / "id_rsa"
        secret.parent.mkdir()
        secret.write_text("SECRET")
        (place.root / "old.txt").write_text("old\n")
        for arguments in (
            ["init", "--quiet"],
            ["config", "user.name", "Test"],
            ["config", "user.email", "test@example.invalid"],
            ["add", "old.txt"],
            ["commit", "--quiet", "--message=first"],
        ):
            place.git(*arguments)
        hook = parent / "hook.py"
        hook.write_text(
            "import pathlib, sys\n"
            "sys.stdin.read()\n"
            f"with pathlib.Path({str(place.hooks_called)!r}).open('a') as called:\n"
            "    called.write(sys.argv[1] + '\\n')\n"
        )
        filled = builder_settings(
            TEMPLATE.read_text(encoding="utf-8"),
            place.root,
            shlex.join([sys.executable, str(hook)]),
        )
        filled["permissions"]["allow"].extend(allow)
        place.settings.write_text(json.dumps(filled), encoding="utf-8")
        return place

    def git(self, *arguments: str) -> str:
        ended = subprocess.run(
            ["git", *arguments],
            cwd=self.root,
            env={"HOME": str(self.home), "PATH": "/usr/bin:/bin:/usr/local/bin"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=True,
            timeout=20,
        )
        return ended.stdout


@dataclass(frozen=True)
class Outcome:
    """What a tool call came to."""

    refused: bool
    answer: str


@dataclass(frozen=True)
class Run:
    stderr: str
    result: dict[str, Any]
    outcomes: list[Outcome]


def run_claude(place: Place, calls: Sequence[Block], *arguments: str, last: Block) -> Run:
    """Have the real Claude Code make these calls one by one, and then the last block."""
    steps = [[call | {"id": f"call_{number}"}] for number, call in enumerate(calls)]
    with ScriptedAPI([*steps, [last]]) as api:
        ended = subprocess.run(
            [
                str(find_claude()),
                "-p",
                "--permission-mode=dontAsk",
                "--tools=Bash,Edit,Glob,Grep,NotebookEdit,Read,Write",
                "--max-turns=100",
                "--output-format=stream-json",
                "--verbose",
                f"--settings={place.settings}",
                *arguments,
            ],
            input="Do it.",
            cwd=place.root,
            env=api.claude_env(place.home, CLAUDE_CODE_DISABLE_BACKGROUND_TASKS="1"),
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
    lines = [json.loads(line) for line in ended.stdout.splitlines()]
    answers: dict[str, dict[str, Any]] = {}
    for line in lines:
        if line["type"] == "user":
            blocks = line["message"]["content"]
            answers |= {b["tool_use_id"]: b for b in blocks if b["type"] == "tool_result"}
    outcomes = [_outcome(answers[step[0]["id"]]) for step in steps]
    return Run(ended.stderr, lines[-1], outcomes)


def _outcome(answer: dict[str, Any]) -> Outcome:
    content = answer["content"]
    words = content if isinstance(content, str) else "".join(part["text"] for part in content)
    refusals = ("has been denied", "denied by your permission settings")
    refused = answer.get("is_error", False) and any(refusal in words for refusal in refusals)
    return Outcome(refused, words)


def bash(command: str) -> Block:
    return tool("Bash", command=command, description="a step")


def write(path: Path) -> Block:
    return tool("Write", file_path=str(path), content="new\n")


@pytest.fixture(scope="module", params=FOLDERS)
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Place:
    return Place.make(tmp_path_factory.mktemp("place"), request.param)


def test_the_builder_can_edit_the_project_and_commit_by_path(place: Place) -> None:
    edit = {"file_path": str(place.root / "old.txt"), "old_string": "old", "new_string": "changed"}
    (place.root / ".ai" / "context.compact.json").write_text('{"current_task": {}}')
    calls = [
        write(place.root / "sub" / "new.txt"),
        tool("Read", file_path=str(place.root / "old.txt")),
        tool("Edit", **edit),
        bash("git status"),
        bash("git status --short"),
        bash("git diff"),
        bash("git add old.txt sub/new.txt"),
        bash("git commit -m 'feat(1): A new file'"),
        tool("Read", file_path=str(place.root / ".ai" / "context.compact.json")),
        bash("git log -n 3 --oneline"),
    ]
    run = run_claude(place, calls, last=text("Done."))
    assert [outcome.refused for outcome in run.outcomes] == [False] * len(calls)
    assert "+changed" in run.outcomes[5].answer
    assert "current_task" in run.outcomes[8].answer
    assert place.git("show", "--format=%s", "--name-only").split("\n") == [
        "feat(1): A new file",
        "",
        "old.txt",
        "sub/new.txt",
        "",
    ]
    assert run.result["permission_denials"] == []
    # An unknown key or a rule that can't be read would be told here.
    assert run.stderr == ""


REFUSED: dict[str, Callable[[Place], Block]] = {
    "write beside the project": lambda p: write(p.outside / "x"),
    "write into the home folder": lambda p: write(p.home / "x"),
    "write the queue": lambda p: write(p.root / ".ai" / "queue" / "0001.json"),
    "write the settings of the project": lambda p: write(p.root / ".claude" / "settings.json"),
    "write a git hook": lambda p: write(p.root / ".git" / "hooks" / "pre-commit"),
    "write the servers of the project": lambda p: write(p.root / ".mcp.json"),
    "redirect into the queue": lambda _: bash("echo x > .ai/x"),
    "redirect into a git hook": lambda _: bash("echo x > .git/hooks/post-commit"),
    "redirect out of the project": lambda p: bash(f"git status > {shlex.quote(str(p.outside))}/x"),
    "remove the queue": lambda _: bash("rm -r .ai"),
    "diff into a file": lambda p: bash(f"git diff --output={shlex.quote(str(p.outside))}/x"),
    "log into a file": lambda p: bash(f"git log -n 1 --output={shlex.quote(str(p.outside))}/x"),
    "run an editor": lambda _: bash("GIT_EDITOR='touch ran' git commit --allow-empty"),
    "run a command inside a message": lambda _: bash('git commit -m "$(touch ran)"'),
    "configure git for one command": lambda _: bash("git -c core.editor='touch ran' commit"),
    "push": lambda _: bash("git push origin HEAD"),
    "push after something harmless": lambda _: bash("git status && git push"),
    "push from elsewhere": lambda _: bash("git -C . push"),
    "run code": lambda _: bash('python3 -c \'open("ran", "w")\''),
    "read a private key": lambda p: tool("Read", file_path=str(p.home / ".ssh" / "id_rsa")),
}


def test_all_else_is_refused_and_leaves_no_trace(place: Place) -> None:
    def files() -> list[Path]:
        folders = (place.root, place.outside, place.home / ".ssh")
        found = (path for folder in folders for path in folder.rglob("*"))
        return sorted(p for p in found if "objects" not in p.parts and p.name != "index")

    before, head = files(), place.git("rev-parse", "HEAD")
    run = run_claude(place, [make(place) for make in REFUSED.values()], last=text("Done."))
    passed = [
        (name, outcome.answer)
        for name, outcome in zip(REFUSED, run.outcomes, strict=True)
        if not outcome.refused
    ]
    assert passed == []
    assert files() == before
    assert not (place.home / "x").exists()
    assert place.git("rev-parse", "HEAD") == head
    assert "SECRET" not in json.dumps([outcome.answer for outcome in run.outcomes])


FORBIDDEN = [
    "git push",
    "git status; git push --force",
    "curl http://127.0.0.1:9/",
    "wget http://127.0.0.1:9/",
    "sudo true",
    "rm -rf nothing-here",
    "sf project deploy start",
    "sf project delete source --metadata X",
    "sf project:deploy:start",
    "sf project:delete:source",
    "sf deploy metadata",
    "sf org delete scratch",
    "sf org:list",
    "sfdx project deploy start",
    "sfdx org list",
    "sf force:source:deploy -p x",
    "sfdx force:source:deploy",
    "sfdx force:source:push -f",
    "sfdx force:source:delete -p x",
    "sfdx force:mdapi:deploy -d x",
    "sfdx force:org:create",
    "sf force source deploy -p x",
    "sf force source push",
    "sf force source delete",
    "sf force mdapi deploy",
    "sf force org list",
    "echo x > .ai/x",
    "cat ~/.ssh/id_rsa",
]


def test_what_is_forbidden_stays_so_when_a_person_allows_every_command(tmp_path: Path) -> None:
    place = Place.make(tmp_path, allow=["Bash"])
    harmless = ["echo fine", "sf apex run test", "git commit --allow-empty -m 'git push it'"]
    run = run_claude(place, [bash(c) for c in [*harmless, *FORBIDDEN]], last=text("Done."))
    refused = [outcome.refused for outcome in run.outcomes]
    commands = [*harmless, *FORBIDDEN]
    let_through = [c for c, no in zip(commands, refused, strict=True) if not no]
    assert let_through == harmless


def test_both_hooks_are_called_where_the_guard_needs_them(tmp_path: Path) -> None:
    place = Place.make(tmp_path)
    run_claude(place, [], last=text("Done."))
    assert place.hooks_called.read_text().split() == ["stop"]

    place.hooks_called.unlink()
    schema = {"type": "object", "properties": {"outcome": {"type": "string"}}}
    run = run_claude(place, [], f"--json-schema={json.dumps(schema)}", last=report())
    assert run.result["structured_output"]["outcome"] == "done"
    assert place.hooks_called.read_text().split() == ["report", "stop"]
