"""Our server's entry in `claude_desktop_config.json`, a file of Claude Desktop and the person.

Owns: where the file may be, what our entry is called and says, putting it in and taking it out.
Does not own: the decision where to register, what is printed, the other servers in the file.

Invariants: a file that can't be understood is not touched. Readers see the old file or the new
one, never half of one. What is not our entry stays byte for byte, except that a byte order mark
is never written. Before each change a copy is kept beside the file; no change, no copy.

Claude Desktop rewrites the file while it runs: quit it first, and check afterwards (`loop
doctor`).
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from loop.errors import LoopError
from loop.setup import foreign_file
from loop.setup.json_text import JsonProblem, get_value, remove_value, set_value

FILE_NAME = "claude_desktop_config.json"
SERVERS = "mcpServers"
NAME_PREFIX = "architect_watcher_"
#: Clients join server and tool to `server__tool` and allow 64 characters. Our longest tool name,
#: `check_builder_status`, has 20.
NAME_MAX = 40
BACKUPS_KEPT = 5


@dataclass(frozen=True)
class Change:
    """What `register` or `unregister` did."""

    path: Path
    #: `no_desktop`: the folder of Claude Desktop is absent, so nothing was written.
    outcome: Literal["written", "unchanged", "no_desktop"]
    #: The copy of the file as it was before; None if nothing was changed or there was no file.
    backup: Path | None = None


def config_places(env: Mapping[str, str], platform: str, home: Path) -> list[Path]:
    """The files that Claude Desktop may read on this machine, the likeliest first; none need exist.

    `platform` is `sys.platform`. On Windows the Store app reads a file inside its package instead
    of the plain one: each package that is there comes before the plain place.
    """
    if platform == "darwin":
        return [home / "Library" / "Application Support" / "Claude" / FILE_NAME]
    if platform == "win32":
        local = _absolute(env.get("LOCALAPPDATA")) or home / "AppData" / "Local"
        roaming = _absolute(env.get("APPDATA")) or home / "AppData" / "Roaming"
        packages = sorted((local / "Packages").glob("*Claude*_*/LocalCache/Roaming/Claude"))
        return [folder / FILE_NAME for folder in [*packages, roaming / "Claude"]]
    config = _absolute(env.get("XDG_CONFIG_HOME")) or home / ".config"
    return [config / "Claude" / FILE_NAME]


def entry(python: Path, root: Path) -> dict[str, Any]:
    """How Claude Desktop starts our server for the project at `root`: no shell, absolute paths.

    Raises: LoopError for a path that JSON can't hold.
    """
    # Not resolved: the interpreter of a virtualenv is a link, and works only under its own name.
    command, project = str(python.absolute()), str(root.absolute())
    for path in (command, project):
        try:
            path.encode()
        except UnicodeEncodeError:
            readable = os.fsencode(path).decode(errors="replace")
            raise LoopError(f"{readable}: the path is not valid UTF-8; rename the folder") from None
    return {"command": command, "args": ["-m", "loop", "serve", "--project", project]}


def server_name(root: Path, taken: Mapping[str, Path | None]) -> str:
    """The project's server name: `architect_watcher_` and the folder's name, at most 40 characters.

    `taken` says which names stand for which project folders (None: for something else), see
    `registered`. A folder that has a name keeps it. A hash of the folder's path tells apart what
    would be called the same.
    """
    root = root.resolve()
    for name, owner in taken.items():
        if owner is not None and owner.resolve() == root:
            return name
    digest = hashlib.sha256(os.fsencode(root)).hexdigest()
    slug = re.sub(r"[^a-z0-9]+", "_", root.name.lower()).strip("_")
    room = NAME_MAX - len(NAME_PREFIX)
    name = NAME_PREFIX + slug[:room].strip("_")
    if slug and root.name.isascii() and name not in taken:
        return name
    digits = 6
    while True:
        short = slug[: max(0, room - digits - 1)].strip("_")
        name = NAME_PREFIX + f"{short}_{digest[:digits]}".strip("_")
        if name not in taken or digits >= room:
            return name
        digits += 4


def registered(path: Path) -> dict[str, Path | None]:
    """The names of our kind in the file, each with its project folder; None if it has none.

    Raises: LoopError if the file can't be read or understood.
    """
    try:
        servers = get_value(_text(foreign_file.read(path)), [SERVERS])
    except JsonProblem as problem:
        raise _refusal(path, problem) from None
    if not isinstance(servers, dict):
        return {}
    ours = (name for name in servers if name.startswith(NAME_PREFIX))
    return {name: _project(servers[name]) for name in ours}


def register(path: Path, name: str, entry: Mapping[str, Any], at: datetime | None = None) -> Change:
    """Have the server `name` started as `entry` says. Keys that the person added to the entry stay.

    `at` is the time that names the backup; None means now.

    Raises: LoopError if the file can't be read, understood or written; nothing is changed then.
    """

    def with_entry(text: str) -> str:
        old = get_value(text, [SERVERS, name])
        new = {**old, **entry} if isinstance(old, dict) else dict(entry)
        return text if new == old else set_value(text, [SERVERS, name], new)

    return _change(path, with_entry, at)


def unregister(path: Path, name: str, at: datetime | None = None) -> Change:
    """Take the server `name` out.

    Raises: LoopError, as `register`.
    """
    return _change(path, lambda text: remove_value(text, [SERVERS, name]), at)


def _change(path: Path, edit: Callable[[str], str], at: datetime | None) -> Change:
    if not path.parent.is_dir():
        return Change(path, "no_desktop")
    content = foreign_file.read(path)
    try:
        text = _text(content)
        edited = edit(text)
    except JsonProblem as problem:
        raise _refusal(path, problem) from None
    if edited == text:
        return Change(path, "unchanged")
    foreign_file.refuse_read_only(path)
    backup = None
    if content is not None:
        backup = foreign_file.keep_copy(path, content, at or datetime.now(UTC))
    try:
        foreign_file.replace(path, edited.encode())
    except LoopError:
        if backup is not None:
            backup.unlink(missing_ok=True)
        raise
    foreign_file.drop_old_copies(path, BACKUPS_KEPT)
    return Change(path, "written", backup)


def _text(content: bytes | None) -> str:
    """The file as text without a byte order mark; an absent or blank file is an empty object."""
    try:
        text = (content or b"").decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        readable = problem.object[: problem.start].decode("utf-8-sig", "replace")
        raise JsonProblem("not UTF-8", readable, len(readable)) from None
    return text if text.strip() else "{}\n"


def _refusal(path: Path, problem: JsonProblem) -> LoopError:
    return LoopError(f"{path}: {problem}; nothing was changed, mend the file by hand and try again")


def _project(server: Any) -> Path | None:
    match server:
        case {"args": [*_, "--project", str(root)]}:
            return Path(root)
    return None


def _absolute(folder: str | None) -> Path | None:
    return Path(folder) if folder and Path(folder).is_absolute() else None
