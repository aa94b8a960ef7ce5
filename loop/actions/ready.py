"""Whether a run could start on this machine now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from loop.builder.executable import find_claude
from loop.builder.permissions import approved, check_command
from loop.core.config import Config
from loop.errors import NotReady
from loop.git.command import find_git
from loop.store.drive import network_drive
from loop.store.identity import root_mismatch
from loop.store.paths import Project
from loop.store.project_files import load_config

#: Kinds of pause that end by themselves once the missing part is there.
MENDABLE = frozenset({
    "no_claude", "no_git", "no_project", "config", "permissions", "daily_budget", "copied",
    "network_drive",
})  # fmt: skip


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
    if not project.root.is_dir():
        raise NotReady("no_project", f"the project folder {project.root} is gone: put it back")
    _own_folder(project)
    config = load_config(project)
    find_git()
    claude = find_claude(config, env)
    check_command(project, config)
    return Ready(config, claude, approved(project))


def _own_folder(project: Project) -> None:
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


def missing(project: Project, env: Mapping[str, str]) -> NotReady | None:
    """What keeps a run from starting; None when nothing does."""
    try:
        ready(project, env)
    except NotReady as error:
        return error
    return None
