"""A desk for end-to-end tests: a project, the real Claude Code on a scripted API, real servers.

Owns: the project in a temporary folder, its home, the script, and the ending of every process that
was started for it. A test plays the Architect through the real MCP client:

    desk.script["Add a file"] = [[desk.writes("a.txt")], [report()]]
    async with desk.architect() as architect:
        answer = await architect.done(await architect.queue("Add a file"))

Invariants: nothing of the surrounding environment reaches a server but what it needs to start;
every wait is bounded; when the `with` block is left, no process of the project is alive.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from mcp import Client, StdioServerParameters, stdio_client

from examples.scripted_api import Block, ScriptedAPI, Steps, tool
from loop.store.journal import transition
from loop.store.paths import Project
from tests.claude_binary import find_claude
from tests.e2e.architect import Architect
from tests.ready import approve_all, make_project

README = "# A project\n\nWhat it does.\n\n## Recent Changes\n\n- 2026-01-01: The project began.\n"
#: The part of README.md that `Desk.notes_the_change` puts a new entry above.
_OLD_ENTRY = "- 2026-01-01: The project began.\n"

#: Seconds: one command, one session with a server, the end of a process that was told to end.
_COMMAND_S = 20.0
_SESSION_S = 60.0
_END_S = 10.0


@dataclass(frozen=True)
class Desk:
    """One project with all that works on it."""

    project: Project
    home: Path
    #: an interpreter that has `loop` installed
    python: Path
    api: ScriptedAPI
    #: needle to steps, read at each request; see `ScriptedAPI`
    script: dict[str, Steps]

    @classmethod
    @contextmanager
    def at(
        cls,
        parent: Path,
        python: Path,
        name: str = "project",
        files: Mapping[str, str] | None = None,
    ) -> Iterator[Desk]:
        """A desk whose project is `parent/name`; `files` are in its first commit."""
        root, home = parent.resolve() / name, parent.resolve() / "home"
        root.mkdir()
        home.mkdir()
        script: dict[str, Steps] = {}
        with ScriptedAPI(script) as api:
            desk = cls(Project(root), home, python, api, script)
            for path, content in {"README.md": README, **(files or {})}.items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(content, encoding="utf-8")
            desk.git("init", "--quiet", "--initial-branch=main")
            desk._set_up()
            desk.git("config", "user.name", "Test")
            desk.git("config", "user.email", "test@example.invalid")
            desk.git("add", "--all")
            desk.git("commit", "--quiet", "--message=first")
            try:
                yield desk
            finally:
                desk.end_processes()

    def _set_up(self) -> None:
        """Make the folder a project, as a person does, and let the Builder have the API's key."""
        make_project(self.root, self.python, self.env)
        self.configure(builder={"inherit_api_key": True})

    @property
    def root(self) -> Path:
        """The project's folder."""
        return self.project.root

    @property
    def env(self) -> dict[str, str]:
        """The environment of a server, and so of its Builder."""
        env = self.api.claude_env(self.home, CLAUDE_CODE_MAX_RETRIES="0")
        return env | {"LOOP_CLAUDE": str(find_claude())}

    @property
    def serve(self) -> list[str]:
        """The command of a server, as Claude Desktop has it."""
        return [str(self.python), "-m", "loop", "serve", "--project", str(self.root)]

    def configure(self, **settings: Any) -> None:
        """Set keys of config.json; those of a section are put over what it has."""
        path = self.project.config
        config = json.loads(path.read_text()) if path.exists() else {}
        for key, value in settings.items():
            section = config.get(key, {})
            config[key] = section | value if isinstance(value, dict) else value
        beside = path.with_name(".config.json")
        beside.write_text(json.dumps(config))
        beside.replace(path)
        if "verify" in settings:  # what is executed counts only when it is approved
            approve_all(self.project, self.env)

    def run(self, *command: str) -> str:
        """Run a command in the project, with a server's environment; its stdout."""
        ended = subprocess.run(
            command,
            cwd=self.root,
            env=self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_COMMAND_S,
            check=False,
        )
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    def git(self, *arguments: str) -> str:
        """Run git in the project; its stdout."""
        return self.run("git", *arguments)

    @asynccontextmanager
    async def architect(self, mode: str = "legacy", **env: str) -> AsyncIterator[Architect]:
        """A server of its own and a session with it; `mode` is that of `mcp.Client`."""
        parameters = StdioServerParameters(
            command=self.serve[0], args=self.serve[1:], env=self.env | env, cwd="/"
        )
        me = psutil.Process()
        before = set(me.children())
        async with asyncio.timeout(_SESSION_S):
            with (self.home / "server.err").open("a") as err:
                transport = stdio_client(parameters, errlog=err)
                async with Client(transport, mode=mode) as client:
                    # A server that starts a run has children of its own, but they aren't ours.
                    (server,) = set(me.children()) - before
                    yield Architect(client, server.pid)
        with suppress(psutil.NoSuchProcess):
            server.wait(_END_S)

    def writes(self, path: str, content: str = "new\n") -> Block:
        """The Builder's call that writes a file of the project."""
        return tool("Write", file_path=str(self.root / path), content=content)

    def notes_the_change(self) -> list[list[Block]]:
        """The Builder's steps that put a new entry into the README."""
        readme = str(self.root / "README.md")
        entry = f"- 2026-02-03: There is something new.\n{_OLD_ENTRY}"
        edit = tool("Edit", file_path=readme, old_string=_OLD_ENTRY, new_string=entry)
        return [[tool("Read", file_path=readme)], [edit]]

    def result(self, task_id: str) -> dict[str, Any]:
        """The result's file."""
        return _object(self.project.task_file(self.project.completed, task_id))

    def queued(self, task_id: str) -> dict[str, Any]:
        """The file of a queued task."""
        return _object(self.project.task_file(self.project.queue, task_id))

    def events(self, name: str) -> list[dict[str, Any]]:
        """The timeline's events of one name."""
        return [event for event in self._timeline() if event["event"] == name]

    def event_names(self) -> list[str]:
        """The names of all events of the timeline, in order."""
        return [event["event"] for event in self._timeline()]

    def _timeline(self) -> list[dict[str, Any]]:
        with transition(self.project):  # what a process that has left was about to write
            pass
        return _lines(self.project.timeline)

    def stream(self, task_id: str) -> list[dict[str, Any]]:
        """All lines of a task's log, our own included."""
        return _lines(self.project.log(task_id))

    def tool_answers(self, task_id: str) -> list[str]:
        """What the Builder's tools answered, in order."""
        said: list[str] = []
        for line in self.stream(task_id):
            content = line["message"]["content"] if line["type"] == "user" else ""
            blocks = content if isinstance(content, list) else []
            results = [block["content"] for block in blocks if block["type"] == "tool_result"]
            said.extend(json.dumps(result, ensure_ascii=False) for result in results)
        return said

    def processes(self) -> list[psutil.Process]:
        """Everything alive that belongs to a run of this project."""
        found = []
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                if process.environ().get("LOOP_PROJECT") == str(self.root):
                    found.append(process)
        return found

    def end_processes(self) -> None:
        """End what runs of this project left alive, by id, until there is nothing."""
        for _ in range(5):
            alive = self.processes()
            if not alive:
                return
            for process in alive:
                with suppress(psutil.NoSuchProcess):
                    process.kill()
            psutil.wait_procs(alive, _END_S)
        raise AssertionError(f"still alive: {alive}")


async def until(true: Callable[[], bool], what: str, limit_s: float = 15.0) -> None:
    """Wait for something that only the disk or the system can tell."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(limit_s):
            while not true():  # noqa: ASYNC110 -- another process makes it true
                await asyncio.sleep(0.02)
            return
    raise AssertionError(f"not within {limit_s} s: {what}")


def _lines(path: Path) -> list[dict[str, Any]]:
    # Other separators of lines may stand inside a JSON text.
    lines = path.read_text(encoding="utf-8").split("\n") if path.exists() else []
    return [json.loads(line) for line in lines if line]


def _object(path: Path) -> dict[str, Any]:
    data = json.loads(path.read_text(encoding="utf-8"))
    assert isinstance(data, dict)
    return data


def put(path: Path, content: str) -> None:
    """Write a file as a careful program does: whole, under another name, then renamed."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.write_text(content, encoding="utf-8")
    beside.replace(path)
