"""Whether a run could start on this machine now."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from loop.builder.executable import find_claude
from loop.builder.permissions import approved, check_command
from loop.core.config import Config
from loop.errors import NotReady
from loop.git.command import Git, GitError, find_git
from loop.store.drive import network_drive
from loop.store.files import cannot_use
from loop.store.identity import root_mismatch
from loop.store.paths import Project
from loop.store.project_files import load_config

#: Kinds of pause that end by themselves once the missing part is there.
MENDABLE = frozenset(
    {
        "no_claude", "no_git", "no_project", "no_folder", "no_write", "disk_full", "copied",
        "network_drive", "config", "permissions", "daily_budget",
    }
)  # fmt: skip
#: What starts something, or is a link or a repository in its place.
_STARTING = re.compile(
    r"\.ai(?:/(?:queue|running|state)(?:/(?!\.gitkeep\Z).*)?)?", re.IGNORECASE | re.DOTALL
)
#: A disk with less room than this takes no run: its log alone would fill it.
_ROOM_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class Ready:
    """Everything that a run needs."""

    config: Config
    claude: Path
    #: the approved rules, for --settings
    settings: Path


def ready(project: Project, env: Mapping[str, str]) -> Ready:
    """What a run needs, all of it found.

    Raises:
        NotReady: says what is missing and the command that mends it.
    """
    check_folders(project)
    config = load_config(project)
    check_brought(project)
    claude = find_claude(config, env)
    check_command(project, config)
    return Ready(config, claude, approved(project))


def check_folders(project: Project) -> None:
    """Makes sure that the folders are there, are this project's own, and take what is written.

    Raises:
        NotReady: says what is wrong and what mends it.
    """
    if not project.root.is_dir():
        raise NotReady("no_project", f"the project folder {project.root} is gone: put it back")
    if not project.ai.is_dir():
        there = "is not a folder: move it away and" if os.path.lexists(project.ai) else "is gone:"
        raise NotReady("no_project", f"{project.ai} {there} run `loop init` again")
    check_place(project)
    for folder in (project.state, project.queue, project.running, project.completed, project.logs):
        _check_writable(folder)


def check_place(project: Project) -> None:
    """Makes sure that nobody else can be at work with the same files.

    Raises:
        NotReady: `.ai` was copied here from elsewhere, or it lies on a network drive.
    """
    other = root_mismatch(project)
    if other is not None:
        message = f"this .ai folder belongs to {other}: run `loop init` to make this copy its own"
        raise NotReady("copied", message)
    kind = network_drive(project.root)
    if kind is not None:
        message = (
            f"{project.root} is on a network drive ({kind}): move it to a disk of this machine"
        )
        raise NotReady("network_drive", message)


def check_brought(project: Project) -> None:
    """Makes sure that what is queued and running was put there here, and not by a commit.

    A task has the Builder work and its acceptance commands executed, and so has a record of a run.

    Raises:
        NotReady: git tracks such a file; the message names it.
    """
    # Without regard to case: where that doesn't count, `.AI/queue` is the same folder.
    anywhere = {"GIT_LITERAL_PATHSPECS": "0"}
    try:
        listed = Git(project.root, find_git()).run("ls-files", "-z", ":(icase).ai", env=anywhere)
    except GitError:
        return  # no repository
    for name in listed.decode(errors="replace").split("\0"):
        if _STARTING.fullmatch(name):
            raise NotReady(
                "permissions",
                f"{name} is in git, so anybody may have written it; look at it, then delete it, or "
                f"keep it with `git rm --cached {shlex.quote(name)}`",
            )


def _check_writable(folder: Path) -> None:
    if not folder.is_dir():
        raise NotReady("no_folder", f"{folder} is gone: run `loop init` again")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise NotReady("no_write", f"{folder} can't be written: make it writable for you")
    if shutil.disk_usage(folder).free < _ROOM_BYTES:
        raise NotReady("disk_full", f"the disk of {folder} is full: make room")


def missing(project: Project, env: Mapping[str, str]) -> NotReady | None:
    """What keeps a run from starting; None when nothing does."""
    try:
        ready(project, env)
    except NotReady as error:
        return error
    except OSError as error:
        return NotReady("no_project", str(cannot_use(error)))
    return None
