"""Files that Claude Code loads in a run beside our rules, pinned to what the person approved.

A settings file can bring hooks, rules and variables, `.mcp.json` servers, an agent's file both.
They act in a run without being asked for, so one that changed since the approval must be seen.

Owns: which files these are, their remembered content. Does not own: what follows from a change.

Which files (measured on Claude Code): `.claude/settings.json`, `.claude/settings.local.json` and
`.claude/agents/` of the project's folder and of each folder above it up to the top of the
repository, links followed; `.mcp.json` there and in every folder above. The person's own
`~/.claude` is theirs.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from loop.errors import NotReady
from loop.store.files import read, replace

_SETTINGS = (".claude/settings.json", ".claude/settings.local.json")
_AGENTS = ".claude/agents"
#: More of them are no agents: a link leads to a tree of something else.
_MOST_FOLDERS = 1000


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file that is not what was approved; None where there is none."""

    #: as seen from the project's folder: `.mcp.json`, `../.mcp.json`
    path: str
    approved: str | None
    now: str | None

    @property
    def how(self) -> Literal["appeared", "vanished", "changed"]:
        """What happened to it."""
        if self.approved is None:
            return "appeared"
        return "vanished" if self.now is None else "changed"


def loaded_files(root: Path) -> dict[str, str]:
    """The content of each such file that is there, by its path as seen from `root`.

    Raises:
        NotReady: one is there and can't be read, or a link leads to far too many.
    """
    found: dict[str, str] = {}
    for name, path in _places(root):
        try:
            data = path.read_bytes()
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            continue
        except OSError as error:
            raise NotReady("permissions", f"can't read {path}: {error.strerror or error}") from None
        found[name] = data.decode("utf-8", "surrogateescape")
    return found


def _places(root: Path) -> Iterator[tuple[str, Path]]:
    folders = (root, *root.parents)
    top = next((n for n, folder in enumerate(folders) if (folder / ".git").exists()), 0)
    try:
        home = Path.home()
    except RuntimeError:
        home = None
    for number, folder in enumerate(folders):
        above = "../" * number
        yield f"{above}.mcp.json", folder / ".mcp.json"
        if number > top or folder == home:
            continue
        for name in _SETTINGS:
            yield above + name, folder / name
        for path in sorted(_texts_below(folder / _AGENTS)):
            yield above + path.relative_to(folder).as_posix(), path


def _texts_below(top: Path) -> Iterator[Path]:
    """The `.md` files below a folder, behind links too, as Claude Code finds them."""
    entered: set[str] = set()
    for folder, below, names in os.walk(top, followlinks=True):
        real = os.path.realpath(folder)
        if real in entered:
            below.clear()  # a link that leads back
            continue
        entered.add(real)
        below.sort()
        if len(entered) > _MOST_FOLDERS:
            raise NotReady(
                "permissions", f"more than {_MOST_FOLDERS} folders below {top}; take the link out"
            )
        yield from (Path(folder, name) for name in names if name.endswith(".md"))


def remember(file: Path, content: Mapping[str, str]) -> None:
    """Writes down the content of the files, as approved."""
    data = (json.dumps(dict(content), indent=1) + "\n").encode()
    if read(file) != data:
        replace(file, data)


def remembered(file: Path) -> dict[str, str]:
    """What was written down; empty when nothing was, or it can't be read."""
    try:
        stored = json.loads(read(file) or b"{}")
    except ValueError:
        return {}
    if not isinstance(stored, dict):
        return {}
    return {name: text for name, text in stored.items() if isinstance(text, str)}


def file_changes(now: Mapping[str, str], approved: Mapping[str, str]) -> list[FileChange]:
    """What is not as it was approved."""
    return [
        FileChange(name, approved.get(name), now.get(name))
        for name in sorted({*now, *approved})
        if now.get(name) != approved.get(name)
    ]
