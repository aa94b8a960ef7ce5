"""What `doctor` looks at in the file of Claude Desktop."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from loop.errors import LoopError
from loop.setup import foreign_file
from loop.setup.desktop import SERVERS, registered
from loop.setup.desktop_entry import SeveralPlaces, config_file
from loop.setup.finding import Finding, error, good, note, warning
from loop.store.paths import Project

QUIT_FIRST = "quit Claude Desktop fully, run `loop init`, and start it again"


def desktop(project: Project, env: Mapping[str, str], platform: str) -> Iterator[Finding]:
    """Whether Claude Desktop would start our server for this project."""
    try:
        path = config_file(env, platform)
    except SeveralPlaces as problem:
        yield warning(str(problem), "run `loop init` once there is one")
        return
    if path is None:
        yield note("there is no Claude Desktop on this machine",
                   "once it is installed and was started, run `loop init` again")  # fmt: skip
        return
    try:
        owners = registered(path)
    except LoopError as problem:
        yield error(str(problem), f"mend {path} by hand, then run `loop init`")
        return
    ours = [n for n, root in owners.items() if root is not None and _same(root, project.root)]
    if not ours:
        yield warning(f"Claude Desktop has no entry for this project in {path}", QUIT_FIRST)
    if len(ours) > 1:
        yield warning(
            f"Claude Desktop has {len(ours)} entries for this project ({', '.join(ours)}) and "
            "starts a server for each",
            f"quit it, keep one of them in {path}, and start it again",
        )
    for name in ours:
        yield _entry(path, name, project)
    for name, root in owners.items():
        if root is not None and not root.exists():
            yield note(f"the entry {name} in Claude Desktop is for {root}, which is gone",
                       f"take it out of {path}")  # fmt: skip


def _entry(path: Path, name: str, project: Project) -> Finding:
    server = _server(path, name)
    command = server.get("command")
    if not isinstance(command, str) or not Path(command).is_absolute():
        return error(f"the entry {name} in {path} has no absolute interpreter", QUIT_FIRST)
    if not (Path(command).is_file() and os.access(command, os.X_OK)):
        return error(f"the entry {name} in {path} starts {command}, which is gone", QUIT_FIRST)
    if server.get("args") != ["-m", "loop", "serve", "--project", str(project.root)]:
        return warning(f"the entry {name} in {path} is not as `loop init` writes it", QUIT_FIRST)
    return good(f"Claude Desktop has this project as {name}, in {path}")


def _server(path: Path, name: str) -> dict[str, Any]:
    # Its syntax was checked by `registered`.
    text = (foreign_file.read(path) or b"{}").decode("utf-8-sig")
    server = json.loads(text).get(SERVERS, {}).get(name)
    return server if isinstance(server, dict) else {}


def _same(one: Path, other: Path) -> bool:
    return one.resolve() == other
