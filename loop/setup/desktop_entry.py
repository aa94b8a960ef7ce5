"""Our server among those of Claude Desktop: which file, which name, in and out, as steps.

Owns: the choice of the file, what the person is told. Does not own: editing it (`desktop`).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from loop.errors import LoopError
from loop.setup.desktop import config_places, entry, register, registered, server_name, unregister
from loop.setup.step import Step
from loop.store.paths import Project

WHAT = "server in Claude Desktop"
#: While it runs, Claude Desktop may write its own old file over ours.
RESTART = (
    "if Claude Desktop is running, quit it fully (not only its window), run `loop init` again, and "
    "start it"
)
GONE = "if Claude Desktop was running, quit it fully and see that the entry stays out"


class SeveralPlaces(LoopError):
    """Raised when it can't be told which file Claude Desktop reads."""

    def __init__(self, places: list[Path]) -> None:
        self.places = places
        listed = ", ".join(str(place) for place in places)
        super().__init__(
            f"there are several Claude Desktops, and only one of these files is read: {listed}; "
            "remove the package that you don't use, or copy the server's entry there by hand"
        )


def home_of(env: Mapping[str, str], platform: str = sys.platform) -> Path:
    """The person's home folder, as the environment says."""
    home = env.get("USERPROFILE" if platform == "win32" else "HOME")
    return Path(home) if home and Path(home).is_absolute() else Path.home()


def all_places(env: Mapping[str, str], platform: str) -> list[Path]:
    """The files of each Claude Desktop that may be on this machine; its folder is there."""
    places = config_places(env, platform, home_of(env, platform))
    return [place for place in places if place.parent.is_dir()]


def config_file(env: Mapping[str, str], platform: str) -> Path | None:
    """The file that Claude Desktop reads; None when there is no Claude Desktop.

    On Windows the Store's app reads a file of its own, also where the plain folder is there.

    Raises: SeveralPlaces.
    """
    places = all_places(env, platform)
    packages = [place for place in places if "Packages" in place.parts]
    if platform == "win32" and len(packages) > 1:
        raise SeveralPlaces(packages)
    return places[0] if places else None


def put_in(
    project: Project,
    python: Path,
    *,
    env: Mapping[str, str],
    platform: str,
    now: datetime,
    moved_from: Path | None = None,
) -> tuple[str | None, Step]:
    """Registers the project's server; its name, or None when it could not be.

    `moved_from`: where the project was before; an entry for that folder becomes this one's.
    """
    try:
        path = config_file(env, platform)
        if path is None:
            return None, _no_desktop(project, python, env, platform)
        name = server_name(project.root, _owners(path, project, moved_from))
        there = path.exists()
        change = register(path, name, entry(python, project.root), now)
    except LoopError as problem:
        return None, Step(WHAT, "(not registered)", "skipped", str(problem))
    if change.outcome == "unchanged":
        return name, Step(WHAT, str(path), "unchanged", f"as {name}")
    kept = f"; the file as it was: {change.backup}" if change.backup else ""
    note = f"as {name}; {RESTART}{kept}"
    return name, Step(WHAT, str(path), "updated" if there else "created", note)


def take_out(project: Project, *, env: Mapping[str, str], platform: str) -> list[Step]:
    """Takes each entry for this project out, wherever Claude Desktop may have it.

    Raises: LoopError if a file can't be understood or written.
    """
    steps = []
    for path in all_places(env, platform):
        for name, owner in registered(path).items():
            if owner is not None and owner.resolve() == project.root:
                unregister(path, name)
                steps.append(Step(WHAT, str(path), "updated", f"{name} is out; {GONE}"))
    return steps or [Step(WHAT, "(none)", "unchanged", "no entry for this project")]


def server_name_of(
    project: Project, *, env: Mapping[str, str], platform: str = sys.platform
) -> str:
    """The name that this project's server is registered under, else the one `init` would give.

    Raises: LoopError if the file can't be read or understood.
    """
    places = all_places(env, platform)
    taken: dict[str, Path | None] = {}
    for place in places:
        taken = registered(place) | taken
    return server_name(project.root, taken)


def _owners(path: Path, project: Project, moved_from: Path | None) -> dict[str, Path | None]:
    owners = registered(path)
    if moved_from is None or moved_from.exists():
        return owners
    return {n: project.root if owner == moved_from else owner for n, owner in owners.items()}


def _no_desktop(project: Project, python: Path, env: Mapping[str, str], platform: str) -> Step:
    place = config_places(env, platform, home_of(env, platform))[-1]
    name = server_name(project.root, {})
    server = entry(python, project.root)
    command = " ".join(_quoted(part) for part in [server["command"], *server["args"]])
    note = (
        "no Claude Desktop found; once it is installed and was started, run `loop init` again. "
        f"Without it: `loop add` and `loop work`, or `claude mcp add {name} -- {command}`"
    )
    return Step(WHAT, str(place), "skipped", note)


def _quoted(part: str) -> str:
    return f'"{part}"' if " " in part else part
