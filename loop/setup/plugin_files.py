"""The files of the Claude Code plugin, as they lie on this machine.

Owns: the folder, and the template `plugin/` filled for one interpreter: its hooks name that by its
absolute path, and `bin/loop`, which Claude Code puts on the PATH of its shell, calls it. Does not
own: that Claude Code knows of it.

The folder is a marketplace with one plugin, the form in which Claude Code takes one from a disk:

    .claude-plugin/marketplace.json   names the plugin
    loop/                             the plugin
    projects.json                     whose `loop init --plugin` wanted it, and which folders of
                                      Claude Code's settings name it
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

import platformdirs

from loop import __version__
from loop.core.task import decode_object
from loop.errors import BadInput, LoopError
from loop.setup.builder_rules import hook_command
from loop.store.files import cannot_write, read, replace
from loop.templates import scaffolding

PLUGIN = "loop"
MARKETPLACE = "claude-automation-loop"
#: How Claude Code names the plugin among those of all marketplaces.
PLUGIN_ID = f"{PLUGIN}@{MARKETPLACE}"
_HOOKS = f"{PLUGIN}/hooks/hooks.json"
_MANIFEST = f"{PLUGIN}/.claude-plugin/plugin.json"
_SCRIPT = f"{PLUGIN}/bin/loop"
_PROJECTS = "projects.json"
_SAYS = "Made by `loop init --plugin`; `loop uninstall` removes it."
#: Claude Code leaves a folder with one of these in its path off the PATH of its shell.
_OFF_PATH = {"win32": "'\"$`"}
_OFF_PATH_ELSEWHERE = "'\"$`:\\\n"
_STARTER = """\
#!/bin/sh
python={python}
if [ ! -x "$python" ]; then
  echo "loop: $python is gone: run 'loop init --plugin' again in a terminal" >&2
  exit 1
fi
exec "$python" -I -m loop "$@"
"""


def plugin_home() -> Path:
    """The folder of the marketplace, in the user's own state folder."""
    return Path(platformdirs.user_state_path("loop", appauthor=False)) / "claude-plugin"


def rendered(python: Path, platform: str = sys.platform) -> dict[str, bytes]:
    """What the folder should hold, by path within it."""
    source = scaffolding() / "plugin"
    files = {
        f"{PLUGIN}/{path.relative_to(source).as_posix()}": path.read_bytes()
        for path in sorted(source.rglob("*"))
        if path.is_file()
    }
    files[_HOOKS] = _data(_with_command(json.loads(files[_HOOKS]), python, platform))
    manifest = json.loads(files[_MANIFEST]) | {"version": __version__}
    files[_MANIFEST] = _data(manifest)
    interpreter = python.absolute()
    path = interpreter.as_posix() if platform == "win32" else str(interpreter)
    files[_SCRIPT] = _STARTER.format(python=shlex.quote(path)).encode()
    files[".claude-plugin/marketplace.json"] = _data(
        {
            "name": MARKETPLACE,
            "description": _SAYS,
            "owner": {"name": MARKETPLACE},
            "plugins": [
                {
                    "name": PLUGIN,
                    "source": f"./{PLUGIN}",
                    "description": manifest["description"],
                }
            ],
        }
    )
    return files


def on_disk() -> dict[str, bytes]:
    """What the folder holds, by path within it; nothing when it is not there."""
    home = plugin_home()
    return {
        path.relative_to(home).as_posix(): path.read_bytes()
        for path in sorted(home.rglob("*"))
        if path.is_file() and path.relative_to(home).as_posix() != _PROJECTS
    }


def write(files: dict[str, bytes]) -> None:
    """Have the folder hold these files and no others. A session that reads it sees whole files.

    Raises: LoopError if it can't be written, or is a link: what it leads to is not ours to clear.
    """
    home = plugin_home()
    if home.is_symlink():
        raise LoopError(f"{home} is a link to {home.resolve()}: remove the link and try again")
    there = on_disk()
    try:
        for name in sorted(there.keys() - files.keys()):
            (home / name).unlink(missing_ok=True)
        for name, content in files.items():
            path = home / name
            if there.get(name) != content:
                path.parent.mkdir(parents=True, exist_ok=True)
                replace(path, content)
        (home / _SCRIPT).chmod(0o755)
    except OSError as error:
        raise cannot_write(home, error) from None


def remove() -> None:
    """Remove the folder.

    Raises: LoopError if it can't be removed.
    """
    home = plugin_home()
    try:
        if home.is_symlink():
            home.unlink()
        elif home.exists():
            shutil.rmtree(home)
    except OSError as error:
        raise cannot_write(home, error) from None


def is_off_path(platform: str = sys.platform) -> bool:
    """Whether Claude Code can't put the plugin's `bin/` on the PATH of its shell."""
    odd = _OFF_PATH.get(platform, _OFF_PATH_ELSEWHERE)
    return any(character in str(plugin_home()) for character in odd)


def is_ours(folder: Path) -> bool:
    """Whether a marketplace's folder is one of our making, here or where it was before."""
    manifest = folder / ".claude-plugin" / "marketplace.json"
    return not manifest.exists() or _object(read(manifest)).get("description") == _SAYS


def wanted_by() -> list[Path]:
    """The projects that want the plugin and are still there."""
    return [root for root in _listed("projects") if (root / ".ai").is_dir()]


def named_in() -> list[Path]:
    """The folders of Claude Code's settings that were told of the plugin."""
    return _listed("settings")


def _listed(key: str) -> list[Path]:
    listed = _object(read(plugin_home() / _PROJECTS)).get(key)
    return [Path(each) for each in listed if isinstance(each, str)] if listed else []


def remember(roots: list[Path], settings: list[Path]) -> None:
    """Write down which projects want it, and which folders of settings were told of it.

    Raises: LoopError if that can't be written.
    """
    home = plugin_home()
    content = _data(
        {
            "projects": sorted({str(root) for root in roots}),
            "settings": sorted({str(folder) for folder in settings}),
        }
    )
    if read(home / _PROJECTS) == content:
        return
    try:
        home.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(home, error) from None
    replace(home / _PROJECTS, content)


def version_on_disk() -> str | None:
    """The version of the plugin that lies there; None for none."""
    version = _object(read(plugin_home() / _MANIFEST)).get("version")
    return version if isinstance(version, str) else None


def hooks_on_disk() -> dict[str, dict[str, Any]]:
    """The plugin's hooks as they lie there, by the name of their event."""
    try:
        events = _object(read(plugin_home() / _HOOKS))["hooks"]
        return {event: groups[0]["hooks"][0] for event, groups in events.items()}
    except (KeyError, IndexError, TypeError, AttributeError):
        return {}


def _with_command(hooks: dict[str, Any], python: Path, platform: str) -> dict[str, Any]:
    own = hook_command(python, platform)
    for groups in hooks["hooks"].values():
        for group in groups:
            for hook in group["hooks"]:
                hook["command"] = re.sub(r"^loop-hook\b", lambda _: own, hook["command"])
    return hooks


def _data(value: object) -> bytes:
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()


def _object(content: bytes | None) -> dict[str, Any]:
    try:
        return decode_object(content or b"{}")
    except BadInput:
        return {}
