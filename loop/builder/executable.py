"""Where Claude Code is."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from loop.core.config import Config
from loop.errors import NotReady

#: Oldest Claude Code that knows every option of our command line.
OLDEST_VERSION = "2.1.0"
INSTALL_HINT = "install it: https://code.claude.com/docs/setup, or set builder.command"


def find_claude(config: Config, env: Mapping[str, str]) -> Path:
    """The absolute path of the executable.

    In this order: `builder.command`, `$LOOP_CLAUDE`, `claude` on PATH, the usual places of its
    installers, the copy inside an installed `claude-agent-sdk`.

    Raises:
        NotReady: there is none; the message says where was looked.
    """
    for source, wanted in (
        ("builder.command", config.builder.command),
        ("LOOP_CLAUDE", env.get("LOOP_CLAUDE")),
    ):
        if wanted:
            found = shutil.which(str(Path(wanted).expanduser()), path=env.get("PATH"))
            if found is None:
                raise NotReady("no_claude", f"{source} is {wanted}, which is no executable file")
            return Path(found).absolute()
    on_path = shutil.which("claude", path=env.get("PATH", os.defpath))
    if on_path:
        return Path(on_path).absolute()
    places = list(usual_places(env))
    for place in places:
        if place.is_file() and os.access(place, os.X_OK):
            return place
    looked = ", ".join(["PATH", *dict.fromkeys(str(place.parent) for place in places)])
    raise NotReady("no_claude", f"Claude Code not found ({INSTALL_HINT}); looked in: {looked}")


def usual_places(env: Mapping[str, str]) -> Iterator[Path]:
    """Where installers put `claude`; a server started by a desktop has a bare PATH."""
    if os.name == "nt":
        for base, parts in (
            ("USERPROFILE", (".local", "bin", "claude.exe")),
            ("APPDATA", ("npm", "claude.cmd")),
            ("LOCALAPPDATA", ("Programs", "claude", "claude.exe")),
        ):
            if base in env:
                yield Path(env[base], *parts)
    else:
        home = Path(env.get("HOME") or Path.home())
        yield home / ".local/bin/claude"
        yield home / ".claude/local/claude"
        yield Path("/usr/local/bin/claude")
        yield Path("/opt/homebrew/bin/claude")
        for folder in (".npm-global/bin", ".volta/bin", ".bun/bin", ".local/share/pnpm"):
            yield home / folder / "claude"
        by_nvm = home.glob(".nvm/versions/node/*/bin/claude")
        yield from sorted(by_nvm, key=lambda p: _numbers(p.parts[-3].lstrip("v")), reverse=True)
    bundled = _bundled()
    if bundled:
        yield bundled


def path_for(claude: Path, env: Mapping[str, str]) -> str:
    """The PATH on which Claude Code finds itself, and node if it is made for that.

    A server that a desktop started has neither on its own PATH.
    """
    folders = (env.get("PATH") or os.defpath).split(os.pathsep)
    folders += [os.fspath(place.parent) for place in _hops(claude)]
    if _needs_node(claude) and shutil.which("node", path=os.pathsep.join(folders)) is None:
        folders += [os.fspath(node.parent) for node in _usual_nodes(env) if node.is_file()][:1]
    return os.pathsep.join(dict.fromkeys(folders))


def _hops(path: Path) -> Iterator[Path]:
    """A path and all that its links lead through: node often lies beside one of them."""
    for _ in range(10):
        yield path
        if not path.is_symlink():
            return
        path = Path(os.path.normpath(path.parent / path.readlink()))


def _needs_node(claude: Path) -> bool:
    try:
        with claude.open("rb") as file:
            first = file.readline(200)
    except OSError:
        return False
    return first.startswith(b"#!") and b"node" in first


def _usual_nodes(env: Mapping[str, str]) -> Iterator[Path]:
    home = Path(env.get("HOME") or Path.home())
    yield from sorted(home.glob(".nvm/versions/node/*/bin/node"), reverse=True)
    yield from sorted(home.glob(".local/share/fnm/node-versions/*/installation/bin/node"))
    for folder in (".volta/bin", ".local/bin", ".asdf/shims", ".local/share/mise/shims"):
        yield home / folder / "node"
    yield Path("/usr/local/bin/node")
    yield Path("/opt/homebrew/bin/node")


def _bundled() -> Path | None:
    spec = importlib.util.find_spec("claude_agent_sdk")
    if spec is None or spec.origin is None:
        return None
    name = "claude.exe" if os.name == "nt" else "claude"
    return Path(spec.origin).parent / "_bundled" / name


def version_of(claude: Path) -> str | None:
    """What the executable says its version is; None when it can't be asked. For doctor only."""
    try:
        done = subprocess.run(
            [claude, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=30,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    words = done.stdout.decode(errors="replace").split()
    return words[0] if done.returncode == 0 and words else None


def older_than_needed(version: str) -> bool:
    """Whether a version such as `2.1.332` is older than the oldest we can use."""
    return _numbers(version) < _numbers(OLDEST_VERSION)


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".") if part.isdigit()]
