"""A person at a machine: a home folder, an environment, a project; nothing of the real ones."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from loop.setup.init import InitReport, Step, initialise
from loop.store.paths import Project

NOW = datetime(2026, 7, 23, 10, 0, tzinfo=UTC)


@dataclass(frozen=True)
class Person:
    home: Path
    root: Path
    #: what `initialise` gets as the interpreter
    python: Path
    env: dict[str, str]

    @property
    def project(self) -> Project:
        return Project(self.root)

    @property
    def desktop(self) -> Path:
        """The file of Claude Desktop on Linux."""
        return self.home / ".config" / "Claude" / "claude_desktop_config.json"

    def has_desktop(self, content: str | None = None) -> None:
        self.desktop.parent.mkdir(parents=True, exist_ok=True)
        if content is not None:
            self.desktop.write_bytes(content.encode())

    def init(self, root: Path | None = None, *, python: Path | None = None) -> InitReport:
        return initialise(
            root or self.root,
            env=self.env,
            python=python or self.python,
            now=NOW,
            platform="linux",
        )

    def git(self, *arguments: str, cwd: Path | None = None) -> str:
        done = subprocess.run(
            ["git", *arguments],
            cwd=cwd or self.root,
            env=self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=True,
            timeout=20,
        )
        return done.stdout


def make_person(parent: Path, python: Path, monkeypatch: pytest.MonkeyPatch) -> Person:
    """A person with an empty project; the environment of this process becomes theirs."""
    parent = parent.resolve()
    home, root = parent / "home", parent / "app"
    home.mkdir()
    root.mkdir()
    env = {
        "HOME": str(home),
        "PATH": os.environ.get("PATH", os.defpath),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_STATE_HOME": str(home / ".local" / "state"),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CEILING_DIRECTORIES": str(parent),
    }
    for name in list(os.environ):
        if name not in env and name != "PYTEST_CURRENT_TEST":
            monkeypatch.delenv(name)
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    return Person(home, root, python, env)


def step(report: InitReport | list[Step], what: str) -> Step:
    """The one step of that name."""
    steps = report if isinstance(report, list) else report.steps
    (found,) = [step for step in steps if step.what == what]
    return found


def tree(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, without git's own and what only a program reads."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".git" not in path.relative_to(folder).parts
    }
