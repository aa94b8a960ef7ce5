"""A project to measure in: in a temporary folder, with a home of its own and a stand-in Builder.

Nothing of the person's is read or written. When the place is left, every process of a run that is
still there is ended, by its id.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from benchmarks.stand_in import StandIn
from loop.builder.permissions import approve
from loop.store.paths import Project

#: The folder that holds `benchmarks`, for processes that import it.
CHECKOUT = Path(__file__).resolve().parent.parent
_FILES = 200


@dataclass(frozen=True, slots=True)
class Place:
    """A project that is set up, the environment for its processes, and its Builder."""

    project: Project
    #: a folder of the place's own, outside the project
    home: Path
    env: dict[str, str]
    builder: StandIn

    def approve(self) -> None:
        """Approves what the settings want executed."""
        with _environment(self.env):
            approve(self.project)


@contextmanager
def place(*, git: bool = False) -> Iterator[Place]:
    """A place for as long as the block lasts; with `git`, a repository of 200 files."""
    # The real path: macOS has a link above its temporary folders.
    with tempfile.TemporaryDirectory(prefix="loop-bench-", ignore_cleanup_errors=True) as name:
        home = Path(name).resolve() / "home"
        home.mkdir()
        project = Project(home.parent / "customer-portal")
        for folder in project.folders():
            folder.mkdir(parents=True)
        env = {"HOME": os.fspath(home), "PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"}
        with StandIn(home) as builder:
            settings = {"builder": {"command": os.fspath(builder.path)}}
            project.config.write_text(json.dumps(settings))
            project.builder_settings.write_text("{}\n")
            with _environment(env):
                approve(project)
            if git:
                _fill(project.root, env)
            try:
                yield Place(project, home, env, builder)
            finally:
                _end_runs(project)


@contextmanager
def _environment(env: Mapping[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update(env)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _fill(root: Path, env: Mapping[str, str]) -> None:
    (root / ".gitignore").write_text(".ai/\n")
    (root / "README.md").write_text("# Portal\n\n## Recent Changes\n\n- 2026-01-01: Begun.\n")
    for number in range(_FILES - 2):
        path = root / f"part{number % 20:02d}" / f"file{number:03d}.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"{number}\n" * 100)
    person = ("-c", "user.name=Person", "-c", "user.email=person@localhost")
    for words in (["init", "-q"], ["add", "-A"], [*person, "commit", "-q", "-m", "Begin"]):
        subprocess.run(["git", *words], cwd=root, env=env, check=True)


def _end_runs(project: Project) -> None:
    wanted = os.fspath(project.root)
    left = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("LOOP_PROJECT") == wanted:
                process.kill()
                left.append(process)
        except psutil.Error:
            continue
    psutil.wait_procs(left, timeout=5)


def serve_command(place: Place, *, stamps: Path | None = None) -> list[str]:
    """The command of the project's server; with `stamps`, its renames are noted there."""
    words = ["serve", "--project", os.fspath(place.project.root)]
    if stamps is None:
        return [sys.executable, "-m", "loop", *words]
    return [sys.executable, "-m", "benchmarks.stamped", os.fspath(stamps), *words]
