"""The demo: an Architect and a Builder at work, live, on a copy of the Salesforce example.

    python -m examples.demo            the real Claude Code with a scripted model; no account
    python -m examples.demo --claude   your own Claude Code and account

Everything happens in a temporary folder, which is kept for you to look at.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mcp import ClientSession, StdioServerParameters, stdio_client
from rich.console import Console
from rich.rule import Rule
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from examples.demo_script import demo_script
from examples.scripted_api import ScriptedAPI

_EXAMPLE = Path(__file__).parent / "salesforce"
_COLOURS = {"Architect": "cyan", "Builder": "green", "Loop": "magenta", "You": "yellow"}
console = Console(highlight=False)


def say(who: str, words: str) -> None:
    """A part of the conversation; the words may come from a model."""
    line = Table.grid(padding=(0, 2))
    line.add_column(justify="right", width=9, style=f"bold {_COLOURS[who]}")
    line.add_column()
    line.add_row(who, Text(words.strip()))
    console.print(line)


class Narrator:
    """Tells what the Builder does, from the raw stream of its runs."""

    def __init__(self, logs: Path) -> None:
        self._logs = logs
        self._offsets: dict[Path, int] = {}

    def catch_up(self) -> None:
        """Tells what is new."""
        for log in sorted(self._logs.glob("[0-9]*.log")):
            with log.open("rb") as file:
                file.seek(self._offsets.get(log, 0))
                data = file.read()
            whole = data.rfind(b"\n") + 1
            self._offsets[log] = self._offsets.get(log, 0) + whole
            for line in data[:whole].splitlines():
                self._tell(json.loads(line))

    def _tell(self, event: dict[str, Any]) -> None:
        if event.get("type") == "assistant" and not event.get("parent_tool_use_id"):
            for block in event["message"]["content"]:
                if block["type"] == "text":
                    say("Builder", f"“{block['text']}”")
                elif block["type"] == "tool_use":
                    say("Builder", _doing(block["name"], block["input"]))
        elif event.get("type") == "user":
            for words in _refusals(event):
                say("Loop", words)


def _doing(name: str, given: dict[str, Any]) -> str:
    if name == "StructuredOutput":
        return f"gives its report: {given.get('outcome')}"
    target = given.get("file_path") or given.get("command") or given.get("pattern") or ""
    return f"{name} {Path(target).name if 'file_path' in given else target}".strip()


def _refusals(event: dict[str, Any]) -> Iterator[str]:
    content = event["message"]["content"]
    for block in content if isinstance(content, list) else []:
        refused = block.get("type") == "tool_result" and block.get("is_error")
        if refused and "Recent Changes" in str(block.get("content")):
            yield "sends the report back: README.md has no new entry under Recent Changes"


class Architect:
    """Plays the chat: calls the tools of the real server and says so."""

    def __init__(self, session: ClientSession, narrator: Narrator) -> None:
        self._session = session
        self._narrator = narrator

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Calls a tool."""
        answer = await self._session.call_tool(tool, arguments)
        if answer.is_error or answer.structured_content is None:
            raise RuntimeError(f"{tool}: {answer.content}")
        return dict(answer.structured_content)

    async def run(self, title: str, *instructions: str, **limits: Any) -> dict[str, Any]:
        """Queues a task and waits for its result."""
        say("Architect", f"queues: {title}")
        queued = await self.call(
            "queue_task", title=title, instructions=list(instructions), **limits
        )
        return await self.result(queued["id"])

    async def result(self, task_id: str) -> dict[str, Any]:
        """Waits for the result of a task; tells the Builder's steps meanwhile."""
        check = asyncio.ensure_future(self._until_ended(task_id))
        while not check.done():
            await asyncio.wait({check}, timeout=0.1)
            self._narrator.catch_up()
        result = check.result()
        why = "" if result["reason"] == result["status"] else f" ({result['reason']})"
        say("Loop", f"result of task {task_id}: {result['status']}{why}")
        for warning in result.get("warnings", []):
            say("Loop", f"warning: {warning}")
        return result

    async def _until_ended(self, task_id: str) -> dict[str, Any]:
        while True:
            answer = await self.call("check_builder_status", task_id=task_id)
            if results := answer.get("results"):
                return dict(results[0])
            if answer["state"] not in ("running", "queued"):
                raise RuntimeError(f"{answer['state']}: {answer.get('reason')}")


async def story(architect: Architect) -> None:
    """Three tasks: one that succeeds, one that asks, one that meets its turn limit."""
    console.print(Rule("1. A task that succeeds"))
    say("You", "Make the completion stand out on the profile card.")
    result = await architect.run(
        "Make the completion stand out",
        "On the profile card, show the percentage as a heading (SLDS class "
        "slds-text-heading_small).",
        "Keep the list of missing fields as it is.",
        target="force-app/main/default/lwc/profileHeader",
    )
    say("Architect", f"reviews: {result['summary']}")

    console.print(Rule("2. The Builder asks, and is answered"))
    say("You", "Phone numbers should not be shown in full.")
    result = await architect.run(
        "Mask the phone number",
        "Mask the phone number of a contact. If it is not said who may see all of it, ask "
        "(outcome needs_input) before you change anything.",
    )
    if result["status"] == "needs_input":
        say("Builder", f"asks: {result['remarks']}")
        say(
            "Architect", "knows the answer from the plan, so you are not asked: all see four digits"
        )
        guidance = "The last four digits for everybody; nobody needs more. Keep it simple."
        await architect.call("requeue_task", task_id=result["task_id"], guidance=guidance)
        result = await architect.result(result["task_id"])
        say("Architect", f"reviews: {result['summary']}")

    console.print(Rule("3. A task that runs into its turn limit"))
    say("You", "And rename every field, everywhere.")
    result = await architect.run(
        "Rename every field", "Rename every field of the profile, in all files.", max_turns=3
    )
    if result["status"] == "failure":
        say(
            "Architect", "stops: this is too large for one run, so it comes back to you with a plan"
        )
        said = await architect.call(
            "escalate_to_user",
            task_id=result["task_id"],
            question="Shall I split the renaming into one task a component?",
            options=["yes, one after another", "leave it"],
        )
        say("Architect", f"asks you: {said['say']}")


def loop_command(*arguments: str, env: dict[str, str], cwd: Path) -> str:
    """The output of a command of ours."""
    done = subprocess.run(
        [sys.executable, "-m", "loop", *arguments],
        env=env, cwd=cwd, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(f"loop {arguments[0]}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def git(root: Path, *arguments: str) -> str:
    """The output of a git command in the copy."""
    return subprocess.run(
        ["git", *arguments], cwd=root, check=True, capture_output=True, text=True
    ).stdout


def copy_example(folder: Path) -> Path:
    """A copy of the example as a git repository of its own."""
    root = folder / "profile-completion"
    shutil.copytree(_EXAMPLE, root)
    git(root, "init", "--quiet", "--initial-branch=main")
    git(root, "config", "user.name", "You")
    git(root, "config", "user.email", "you@example.com")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "The example project")
    return root


async def play(root: Path, env: dict[str, str]) -> None:
    """Starts the server over stdio and plays the story against it."""
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "loop", "serve", "--project", str(root)], env=env
    )
    async with stdio_client(server) as streams, ClientSession(*streams) as session:
        await session.initialize()
        await story(Architect(session, Narrator(root / ".ai" / "logs")))


def show_the_end(root: Path, env: dict[str, str]) -> None:
    """Timeline, diff, and where the files lie."""
    console.print(Rule("The timeline (loop timeline)"))
    drawn = {"COLUMNS": str(console.width), **({"FORCE_COLOR": "1"} if console.is_terminal else {})}
    sys.stdout.write(loop_command("timeline", env=env | drawn, cwd=root))
    sys.stdout.flush()
    console.print(Rule("What task 1 changed"))
    result = json.loads((root / ".ai/completed/0001.json").read_text(encoding="utf-8"))
    snapshot = result["snapshot"]
    diff = git(root, "diff", snapshot["before"], snapshot["after"])
    console.print(Syntax(diff, "diff", background_color="default", word_wrap=True))
    console.print(Rule("Where everything lies"))
    for path, what in (
        ("", "the project"),
        (".ai/completed/", "results, one file a task"),
        (".ai/logs/pipeline.jsonl", "the timeline"),
        (".ai/logs/0001.log", "the raw stream of task 1"),
        (".ai/builder.settings.json", "what the Builder may do"),
    ):
        console.print(f"  {root / path}  [dim]{what}[/]", soft_wrap=True)


def main() -> int:
    """Plays the demo."""
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m examples.demo")
    parser.add_argument("--claude", action="store_true", help="use your own Claude Code")
    mine = parser.parse_args().claude
    started = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="loop-demo-"))
    root = copy_example(folder).resolve()
    with ExitStack() as stack:
        if mine:
            env = dict(os.environ)
        else:
            home = folder / "home"
            home.mkdir()
            today = datetime.now(UTC).strftime("%Y-%m-%d")
            api = stack.enter_context(ScriptedAPI(demo_script(root, today)))
            env = api.claude_env(home, LOOP_CLAUDE=str(bundled_claude()))
            (root / ".ai").mkdir()
            settings = {"builder": {"inherit_api_key": True}}
            (root / ".ai/config.json").write_text(json.dumps(settings), encoding="utf-8")
        console.print(Rule("loop init"))
        console.print(f"  {root}", soft_wrap=True, style="dim")
        loop_command("init", "--no-desktop", env=env, cwd=root)
        say("Loop", "the project is set up: .ai/, CLAUDE.md, .gitignore, the Builder's rules")
        asyncio.run(play(root, env))
        show_the_end(root, env)
    console.print(f"\nDone in {time.monotonic() - started:.0f} s.")
    return 0


def bundled_claude() -> Path:
    """The real Claude Code that the wheel of claude-agent-sdk carries."""
    import claude_agent_sdk

    return Path(claude_agent_sdk.__file__).parent / "_bundled" / "claude"


if __name__ == "__main__":
    sys.exit(main())
