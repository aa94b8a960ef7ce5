"""The Claude Code plugin: put in by `loop init --plugin`, taken out by `loop uninstall`.

Owns: what Claude Code is told, by its own command `claude plugin`, and what the person is told.
Does not own: the plugin's files (`plugin_files`).

Invariants: it is installed for the person, not for a project, so nothing is written into a
project's `.claude/`. It goes when the last project that wanted it is taken out. Where Claude Code
can't be asked, nothing is half done: its settings never name a folder that is gone.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from loop.builder.command import SESSION_MARKERS
from loop.builder.executable import find_claude, path_for
from loop.builder.permissions import check_command
from loop.core.task import decode_object
from loop.errors import BadInput, NotReady
from loop.setup import foreign_file, plugin_files
from loop.setup.desktop_entry import home_of
from loop.setup.plugin_files import MARKETPLACE, PLUGIN, PLUGIN_ID, plugin_home
from loop.setup.step import Step
from loop.store.paths import Project
from loop.store.project_files import load_config

WHAT = "Claude Code plugin"
_LIMIT_S = 60.0
_HOW_TO_GO_ON = "commands such as /loop:run are there in new sessions; `loop uninstall` removes it"


class _Refused(Exception):
    """`claude plugin` could not do it; the message says what it said, in one line."""


def put_in(
    project: Project, python: Path, *, env: Mapping[str, str], platform: str = sys.platform
) -> Step:
    """Installs the plugin, or brings it up to date; `python` is what its hooks call.

    Raises: LoopError if its files can't be written.
    """
    home = plugin_home()
    foreign = _foreign(env, platform)
    if foreign is not None:
        note = f"your Claude Code has another marketplace of this name ({foreign}), which is kept"
        return Step(WHAT, str(home), "skipped", f"{note}; {_by_hand()}")
    files = plugin_files.rendered(python, platform)
    before = plugin_files.on_disk()
    wanted = [*plugin_files.wanted_by(), project.root]
    here = settings_file(env, platform).parent
    named_in = plugin_files.named_in()
    if before == files and is_enabled(env, platform) and here in named_in:
        plugin_files.remember(wanted, named_in)
        return Step(WHAT, str(home), "unchanged", _off_path_words(env, platform))
    plugin_files.write(files)
    elsewhere = [folder for folder in named_in if folder != here]
    try:
        claude = _claude(project, env)
        if is_known(env, platform):
            # Claude Code keeps a copy for each version, so what has changed is taken anew.
            _forget(claude, env, quietly=True)
        _ask(claude, env, "marketplace", "add", str(home))
        _ask(claude, env, "install", PLUGIN_ID, "--scope", "user")
    except (NotReady, _Refused) as problem:
        plugin_files.remember(plugin_files.wanted_by(), elsewhere)
        note = f"{problem}. Once that is mended, run `loop init --plugin` again; {_by_hand()}"
        return Step(WHAT, str(home), "skipped", note)
    plugin_files.remember(wanted, [*elsewhere, here])
    note = "; but ".join(filter(None, (_HOW_TO_GO_ON, _off_path_words(env, platform))))
    return Step(WHAT, str(home), "updated" if before else "created", note)


def take_out(project: Project, *, env: Mapping[str, str], platform: str = sys.platform) -> Step:
    """Removes the plugin, unless another project wants it; from each Claude Code that has it.

    Raises: LoopError if its files can't be removed.
    """
    home = plugin_home()
    known = [each for each in _environments(env, platform) if is_known(each, platform)]
    if not known and not plugin_files.on_disk():
        return Step(WHAT, str(home), "unchanged", "it is not installed")
    others = [root for root in plugin_files.wanted_by() if root != project.root]
    if others:
        plugin_files.remember(others, plugin_files.named_in())
        return Step(WHAT, str(home), "kept", f"{others[0]} has it, too")
    if known:
        try:
            claude = _claude(project, env)
            for each in known:
                _forget(claude, each)
        except (NotReady, _Refused) as problem:
            by_hand = f"`claude plugin marketplace remove {MARKETPLACE}`"
            note = f"{problem}. Once that is mended, run {by_hand}, and remove this folder"
            return Step(WHAT, str(home), "skipped", note)
    plugin_files.remove()
    return Step(WHAT, str(home), "updated", "removed")


def is_hidden(env: Mapping[str, str], platform: str = sys.platform) -> bool:
    """Whether the plugin's commands won't find `loop`."""
    return plugin_files.is_off_path(platform) and not shutil.which("loop", path=env.get("PATH"))


def is_known(env: Mapping[str, str], platform: str = sys.platform) -> bool:
    """Whether the settings of Claude Code name our plugin or its marketplace at all."""
    if _foreign(env, platform):
        return False
    settings = _settings(env, platform)
    return PLUGIN_ID in _part(settings, "enabledPlugins") or MARKETPLACE in _part(
        settings, "extraKnownMarketplaces"
    )


def is_enabled(env: Mapping[str, str], platform: str = sys.platform) -> bool:
    """Whether Claude Code loads the plugin, from our folder."""
    settings = _settings(env, platform)
    known = _part(_part(settings, "extraKnownMarketplaces"), MARKETPLACE)
    at = _part(known, "source").get("path")
    on = _part(settings, "enabledPlugins").get(PLUGIN_ID)
    return on is True and at == str(plugin_home())


def settings_file(env: Mapping[str, str], platform: str = sys.platform) -> Path:
    """The person's own settings of Claude Code."""
    named = env.get("CLAUDE_CONFIG_DIR")
    folder = Path(named) if named else home_of(env, platform) / ".claude"
    return folder / "settings.json"


def _foreign(env: Mapping[str, str], platform: str) -> str | None:
    """Where a marketplace of our name comes from that is not of our making; None for none."""
    known = _part(_part(_settings(env, platform), "extraKnownMarketplaces"), MARKETPLACE)
    source = _part(known, "source")
    path = source.get("path")
    if not source or (isinstance(path, str) and plugin_files.is_ours(Path(path))):
        return None
    return str(path or source.get("repo") or source.get("url") or source.get("source"))


def _environments(env: Mapping[str, str], platform: str) -> Iterator[Mapping[str, str]]:
    """The environment, and the same for each other folder of settings that names the plugin."""
    yield env
    here = settings_file(env, platform).parent
    usual = home_of(env, platform) / ".claude"
    for folder in plugin_files.named_in():
        if folder != here and folder.is_dir():
            bare = {key: value for key, value in env.items() if key != "CLAUDE_CONFIG_DIR"}
            yield bare if folder == usual else bare | {"CLAUDE_CONFIG_DIR": str(folder)}


def _by_hand() -> str:
    return (
        f"`claude --plugin-dir {shlex.quote(str(plugin_home() / PLUGIN))}` loads it for one session"
    )


def _off_path_words(env: Mapping[str, str], platform: str) -> str | None:
    if not is_hidden(env, platform):
        return None
    return "its commands won't find `loop`: put that on PATH, as `pipx install` does"


def _settings(env: Mapping[str, str], platform: str) -> dict[str, Any]:
    content = foreign_file.read(settings_file(env, platform)) or b"{}"
    try:
        return decode_object(content.removeprefix(b"\xef\xbb\xbf"))
    except BadInput:
        return {}


def _part(settings: dict[str, Any], key: str) -> dict[str, Any]:
    value = settings.get(key)
    return value if isinstance(value, dict) else {}


def _claude(project: Project, env: Mapping[str, str]) -> Path:
    config = load_config(project)
    check_command(project, config)
    return find_claude(config, env)


def _forget(claude: Path, env: Mapping[str, str], *, quietly: bool = False) -> None:
    for words in (("uninstall", PLUGIN_ID), ("marketplace", "remove", MARKETPLACE)):
        try:
            _ask(claude, env, *words)
        except _Refused as problem:
            if not quietly and "not found" not in str(problem):
                raise


def _ask(claude: Path, env: Mapping[str, str], *words: str) -> None:
    named = f"`claude plugin {' '.join(words[:2])}`"
    plugin_home().mkdir(parents=True, exist_ok=True)
    try:
        done = subprocess.run(
            [os.fspath(claude), "plugin", *words],
            cwd=plugin_home(),  # no project's settings are read there
            env=_environment(claude, env),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise _Refused(f"{named} did not end within {_LIMIT_S:g} s") from None
    except OSError as error:
        raise _Refused(f"{claude} does not start ({error.strerror})") from None
    if done.returncode:
        said = (done.stderr or done.stdout).decode(errors="replace")
        raise _Refused(f"{named} failed ({' '.join(said.split()).removeprefix('✘ ')[:200]})")


def _environment(claude: Path, env: Mapping[str, str]) -> dict[str, str]:
    quiet = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}
    kept = {key: value for key, value in env.items() if key not in SESSION_MARKERS}
    return kept | {"PATH": path_for(claude, env)} | quiet
