"""Real repositories of a person, with an environment in which only what the test says counts."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from loop.git.command import Repository, repository_of

RunGit = Callable[..., str]


@pytest.fixture(autouse=True)
def home_without_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No settings of git but those that the test makes."""
    for name in [n for n in os.environ if n.startswith("GIT_")]:
        monkeypatch.delenv(name)
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    (home / ".gitconfig").write_text(
        "[user]\n name = P. Erson\n email = p@example.com\n[init]\n defaultBranch = main\n"
    )


@pytest.fixture
def git() -> RunGit:
    """Git as the person calls it: folder first."""

    def run(folder: Path, *arguments: str) -> str:
        done = subprocess.run(
            ["git", *arguments],
            cwd=folder,
            check=True,
            capture_output=True,
            text=True,
            errors="surrogateescape",
            timeout=30,
        )
        return done.stdout

    return run


@pytest.fixture
def root(tmp_path: Path, git: RunGit) -> Path:
    """A repository with one commit: a.txt, dir/b.txt, old.txt."""
    root = (tmp_path / "shop").resolve()
    (root / "dir").mkdir(parents=True)
    git(root, "init", "-q")
    for name in ("a.txt", "dir/b.txt", "old.txt"):
        (root / name).write_text(f"one\ntwo\nthree\n{name}\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "first")
    return root


@pytest.fixture
def repository(root: Path) -> Repository:
    """The same as the program sees it."""
    found = repository_of(root)
    assert found is not None
    return found
