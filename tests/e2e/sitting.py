"""An interactive Claude Code at a terminal: the real one in tmux, on a scripted API.

Owns: the project, the terminals and their ends. A script maps what the session reads to
what the model does then: the last text of a request in which a needle stands decides, whether a
person typed it, a hook said it or a command printed it.

Invariants: each terminal has a tmux server of its own, on its own socket, and ends with its test;
nothing of the surrounding environment reaches a session; every wait is bounded.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from examples.scripted_api import Request, ScriptedAPI, Step, Steps, prepare_interactive, text, tool
from loop.store import queue
from loop.store.paths import Project
from loop.store.scan import Located, locate
from tests.claude_binary import find_claude

_PLUGIN = Path(__file__).parents[2] / "scaffolding" / "plugin"
WAIT_S = 25.0
_COMMAND_S = 20.0


def bash(command: str) -> dict[str, Any]:
    """The model's call of a command."""
    return tool("Bash", command=command)


@dataclass
class Sitting:
    """A project with all that sits at it."""

    project: Project
    home: Path
    python: Path
    #: needle to steps
    script: dict[str, Steps] = field(default_factory=dict)

    @property
    def root(self) -> Path:
        return self.project.root

    @property
    def bin(self) -> Path:
        """Where `loop` lies."""
        return self.home / "bin"

    def answer(self, request: Request) -> Step:
        """What the model does: the step that is due since the last needle was read."""
        replies = 0
        for message in reversed(request.body["messages"]):
            if message["role"] == "assistant":
                replies += 1
                continue
            words = _words(message["content"])
            found = [(words.rfind(needle), needle) for needle in self.script if needle in words]
            if found:
                steps = self.script[max(found)[1]]
                return steps[replies] if replies < len(steps) else [text("I end my turn.")]
        return [text("Hello.")]

    def env(self, api: ScriptedAPI) -> dict[str, str]:
        made = api.claude_env(self.home, TERM="xterm-256color", SHELL="/bin/bash")
        made["XDG_STATE_HOME"] = str(self.home / "state")
        return made | {"PATH": f"{self.bin}{os.pathsep}{made['PATH']}"}

    def run(self, *command: str, check: bool = True) -> str:
        """A command of the person in another terminal; its stdout."""
        env = {"PATH": f"{self.bin}{os.pathsep}{os.environ['PATH']}", "HOME": str(self.home),
               "XDG_STATE_HOME": str(self.home / "state"), "LANG": "C.UTF-8"}  # fmt: skip
        done = subprocess.run(
            command, cwd=self.root, env=env, stdin=subprocess.DEVNULL, capture_output=True,
            text=True, timeout=_COMMAND_S, check=False,
        )  # fmt: skip
        assert done.returncode == 0 or not check, done.stderr
        return done.stdout

    def add(self, words: str, **fields: Any) -> str:
        given = {"instructions": [words], **fields}
        return queue.submit(self.project, given, "architect", datetime.now(UTC)).task.id

    def at(self, task_id: str) -> Located:
        return locate(self.project, task_id, datetime.now(UTC))

    def state(self, task_id: str) -> str:
        return self.at(task_id).state

    def does(self, task_id: str, *steps: Step) -> None:
        """What the model does once it reads that this task is due."""
        self.script[f"Carry out task {task_id} now"] = list(steps)


def _words(content: Any) -> str:
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    found = []
    for block in blocks:
        if block["type"] == "text":
            found.append(block["text"])
        elif block["type"] == "tool_result":
            found.append(_words(block.get("content") or ""))
    return "\n".join(found)


@contextmanager
def sitting(parent: Path, python: Path, *, git: bool = True) -> Iterator[Sitting]:
    """A project `shop` with `loop` on the session's path, and nothing queued."""
    parent = parent.resolve()
    home, root = parent / "home", parent / "shop"
    home.mkdir()
    root.mkdir()
    made = Sitting(Project(root), home, python)
    made.bin.mkdir()
    for name, module in (("loop", "loop"), ("loop-hook", "loop.hooks.entry")):
        script = made.bin / name
        script.write_text(f'#!/bin/sh\nexec "{python}" -P -m {module} "$@"\n')
        script.chmod(0o755)
    for folder in made.project.folders():
        folder.mkdir(parents=True)
    made.project.builder_settings.write_text("{}\n")
    if git:
        (home / ".gitconfig").write_text("[user]\n name = P\n email = p@example.invalid\n")
        (root / ".gitignore").write_text(".ai/\n.claude/\n")
        for words in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-qm", "first"]):
            made.run("git", *words)
    made.script["loop next --claim --session"] = [[bash("loop next --claim")]]
    yield made


class Terminal:
    """One interactive session; its process is `pid`."""

    def __init__(self, at: Sitting, api: ScriptedAPI, name: str, *options: str) -> None:
        self._socket = at.home / f"{name}.tmux"
        self._name = name
        env = at.env(api)
        prepare_interactive(at.home, at.root)
        given = [f"{key}={value}" for key, value in env.items()]
        claude = [
            str(find_claude()), "--plugin-dir", str(_PLUGIN), "--permission-mode", "acceptEdits",
            *options,
        ]  # fmt: skip
        self._tmux(
            "new-session", "-d", "-s", "s", "-x", "120", "-y", "50", "-c", str(at.root),
            "env", "-i", *given, *claude,
        )  # fmt: skip
        self.wait(lambda: "accept edits" in self.screen(), "the session is up")
        self.pid = int(self._tmux("list-panes", "-F", "#{pane_pid}"))

    def _tmux(self, *words: str) -> str:
        done = subprocess.run(
            ["tmux", "-S", str(self._socket), "-f", "/dev/null", *words],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_COMMAND_S,
            check=False, env={"PATH": os.environ["PATH"], "LANG": "C.UTF-8"},
        )  # fmt: skip
        return done.stdout

    def screen(self) -> str:
        """What is to be seen, and what was scrolled away."""
        return self._tmux("capture-pane", "-p", "-J", "-t", "s", "-S", "-400")

    def type(self, words: str) -> None:
        """Types a line, and enters it once it is to be seen."""
        self._tmux("send-keys", "-t", "s", "-l", words)
        self.wait(lambda: words[:20] in self.screen(), f"{words!r} is typed")
        self._tmux("send-keys", "-t", "s", "Enter")

    def press(self, *keys: str) -> None:
        self._tmux("send-keys", "-t", "s", *keys)

    def sees(self, words: str) -> None:
        """Waits until some words are on the screen."""
        self.wait(lambda: words in self.screen(), f"{words!r} is on the screen")

    def wait(self, true: Callable[[], bool], what: str, limit_s: float = WAIT_S) -> None:
        """Waits for what only the disk or the screen can tell."""
        until = time.monotonic() + limit_s
        while not true():
            if time.monotonic() > until:
                raise AssertionError(f"not within {limit_s} s: {what}\n{self.screen()}")
            time.sleep(0.1)

    def kill(self) -> None:
        """Kills the session's process."""
        os.kill(self.pid, signal.SIGKILL)

    def end(self) -> None:
        """Ends the session and its terminal."""
        with suppress(ProcessLookupError):
            self.kill()
        self._tmux("kill-server")


@contextmanager
def terminal(at: Sitting, api: ScriptedAPI, name: str, *options: str) -> Iterator[Terminal]:
    """A session for as long as the block lasts."""
    made = Terminal(at, api, name, *options)
    try:
        yield made
    finally:
        made.end()
