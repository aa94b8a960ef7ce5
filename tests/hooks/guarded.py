"""A project in a real git repository with a run on record, and the guard as a real process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loop.git.command import repository_of
from loop.git.snapshot import take

SOURCE = Path(__file__).parents[2]
RUN = "6b7c0f51-2f0e-4a52-8e1a-6a4f1f1f7a10"
README = """# Shop

Sells things.

## Setup

Run it.

## Recent Changes

- 2026-07-01: The shop opened.
"""
ENTRY = "- 2026-07-23: Orders can be cancelled, so that nobody pays by mistake."

Answer = dict[str, Any] | None


@dataclass(frozen=True)
class Guarded:
    """The project; `root` may lie below the top of its repository."""

    root: Path
    home: Path

    @classmethod
    def make(cls, parent: Path, folder: str = "shop", *, readme: str | None = README) -> Guarded:
        """A committed project whose run has begun; `readme` None leaves it out."""
        parent = parent.resolve()
        project = cls(parent / "repository" / folder, parent / "home")
        for name in ("running", "state"):
            (project.root / ".ai" / name).mkdir(parents=True)
        project.home.mkdir()
        project.write(".gitignore", "*.log\n")
        project.write("app.py", "print('old')\n")
        if readme is not None:
            project.write("README.md", readme)
        project.git("init", "--quiet", "--initial-branch=main", str(parent / "repository"))
        project.git("config", "user.name", "Test")
        project.git("config", "user.email", "test@example.invalid")
        project.commit()
        project.begin()
        return project

    def begin(self, *, max_file_mb: float = 10) -> None:
        """Puts a run on record, with a snapshot of the files as they are now."""
        repository = repository_of(self.root)
        assert repository is not None
        taken = take(repository, "refs/loop/test/42/2/before", max_file_mb=max_file_mb)
        runs = [
            {"number": 1, "uuid": "an-earlier-run"},
            {"number": 2, "uuid": RUN, "before": taken.commit},
        ]
        self.write(".ai/running/0042.json", json.dumps({"id": "42", "runs": runs}))

    def write(self, name: str, content: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
        return path

    def announce(self, entry: str = ENTRY) -> None:
        """Adds an entry under Recent Changes."""
        path = self.root / "README.md"
        words = path.read_text(encoding="utf-8")
        path.write_text(
            words.replace("## Recent Changes\n\n", f"## Recent Changes\n\n{entry}\n"),
            encoding="utf-8",
        )

    def configure(self, **settings: object) -> None:
        self.write(".ai/config.json", json.dumps(settings))

    def git(self, *arguments: str) -> None:
        subprocess.run(
            ["git", *arguments],
            cwd=self.root,
            env={"PATH": os.environ["PATH"], "HOME": str(self.home)},
            check=True,
            capture_output=True,
            timeout=20,
        )

    def commit(self) -> None:
        self.git("add", "--all", ".")
        self.git("commit", "--quiet", "--allow-empty", "--message=work")

    def env(self, **extra: str | None) -> dict[str, str]:
        """The environment of a hook in the run; None takes a name away."""
        all_: dict[str, str | None] = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "PYTHONPATH": str(SOURCE),
            "LOOP_RUN": RUN,
            "LOOP_TASK_ID": "42",
            "LOOP_PROJECT": str(self.root),
        }
        if os.name == "nt":
            all_["SYSTEMROOT"] = os.environ["SYSTEMROOT"]
        return {k: v for k, v in {**all_, **extra}.items() if v is not None}

    def hook(
        self,
        word: str,
        given: object,
        *,
        env: Mapping[str, str] | None = None,
        prefix: Sequence[str] = (),
    ) -> Hooked:
        """Calls the script as Claude Code does; `given` may be bytes that are no JSON."""
        done = subprocess.run(
            [*prefix, *hook_command(word)],
            input=given if isinstance(given, bytes) else json.dumps(given).encode(),
            env=self.env() if env is None else env,
            cwd=self.root,
            capture_output=True,
            timeout=30,
            check=False,
        )
        return Hooked(done.returncode, done.stdout.decode(), done.stderr.decode())

    def report(self, outcome: str = "done", **extra: Any) -> Hooked:
        """The hook on a report."""
        return self.hook("report", report_input(outcome), **extra)

    def stop(self, words: str = "All done.", **fields: Any) -> Hooked:
        """The hook on a Stop."""
        return self.hook("stop", stop_input(words, **fields))

    @property
    def record(self) -> dict[str, Any] | None:
        """What the guard has on record; None when there is nothing."""
        path = self.root / ".ai" / "running" / "0042.guard"
        content: dict[str, Any] | None = json.loads(path.read_text()) if path.exists() else None
        return content


@dataclass(frozen=True)
class Hooked:
    """How a hook ended."""

    exit: int
    stdout: str
    stderr: str

    @property
    def passed(self) -> bool:
        """It let the ending pass and had no trouble."""
        return (self.exit, self.stdout, self.stderr) == (0, "", "")

    @property
    def passed_with_trouble(self) -> bool:
        """It let the ending pass and said one line to the log."""
        return (self.exit, self.stdout) == (0, "") and len(self.stderr.splitlines()) == 1

    @property
    def reason(self) -> str:
        """Why a report was refused; fails when it was not."""
        assert self.exit == 0
        assert not self.stderr
        answer = json.loads(self.stdout)
        output = answer.pop("hookSpecificOutput")
        assert answer == {}
        reason = output.pop("permissionDecisionReason")
        assert output == {"hookEventName": "PreToolUse", "permissionDecision": "deny"}
        return str(reason)


def hook_command(word: str) -> list[str]:
    """How the script is called here; `-P` keeps the project's own folder out of the imports."""
    return [sys.executable, "-P", "-m", "loop.hooks.entry", word]


def report_input(outcome: str = "done") -> dict[str, Any]:
    """What Claude Code says on a call of StructuredOutput."""
    return {
        "session_id": RUN,
        "hook_event_name": "PreToolUse",
        "tool_name": "StructuredOutput",
        "tool_input": {"outcome": outcome, "summary": "Did it."},
    }


def stop_input(words: str, **fields: Any) -> dict[str, Any]:
    """What Claude Code says on a Stop."""
    return {
        "session_id": RUN,
        "hook_event_name": "Stop",
        "stop_hook_active": False,
        "last_assistant_message": words,
        "background_tasks": [],
        **fields,
    }
