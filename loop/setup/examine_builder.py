"""What `doctor` looks at of the Builder: the executable, the rules, the hooks, the keys."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from loop import __version__
from loop.builder.command import API_KEYS, stripped_keys
from loop.builder.executable import (
    OLDEST_VERSION,
    find_claude,
    older_than_needed,
    version_of,
)
from loop.builder.permissions import approved, approved_file, check_command
from loop.core.config import Config
from loop.core.rules import dead, rule_path
from loop.errors import LoopError, NotReady
from loop.setup.builder_rules import our_hooks
from loop.setup.examine_project import INIT
from loop.setup.finding import Finding, error, good, note, warning
from loop.setup.json_text import JsonProblem, parse
from loop.setup.try_hook import try_hook
from loop.store.files import read
from loop.store.paths import Project

#: Where programs look that a desktop starts; a terminal's PATH is longer.
_SHORT_PATH = "/usr/bin:/bin:/usr/sbin:/sbin"
#: What mends rules that were changed since their approval.
_REVIEW = "run `loop allow --review`"
_KEY_LINE = re.compile(rf"^\s*(?:export\s+)?({'|'.join(API_KEYS)})\s*=\s*\S", re.MULTILINE)
_ENV_FILES = (".env", ".env.local")


def python() -> Finding:
    """The interpreter and this program."""
    version = ".".join(str(part) for part in sys.version_info[:3])
    return good(f"loop {__version__} on Python {version}, {sys.executable}")


def claude(
    project: Project, config: Config, env: Mapping[str, str], platform: str
) -> Iterator[Finding]:
    """Claude Code: where, which version, and whether Claude Desktop's server finds it too."""
    try:
        check_command(project, config)  # before it is asked for its version: that starts it
    except NotReady as problem:
        yield error(str(problem), _mend(project))
        return
    try:
        found = find_claude(config, env)
    except NotReady as problem:
        yield error(str(problem), "install Claude Code, or set builder.command in .ai/config.json")
        return
    version = version_of(found)
    if version is None:
        yield error(f"{found} does not start", f"run `{found} --version` and see what it says")
    elif older_than_needed(version):
        yield error(
            f"Claude Code {version} at {found} is older than {OLDEST_VERSION}, which is needed",
            "run `claude update`",
        )
    else:
        yield good(f"Claude Code {version}, {found}")
    if platform == "win32":
        return
    short = {key: value for key, value in env.items() if key != "LOOP_CLAUDE"}
    try:
        find_claude(config, short | {"PATH": _SHORT_PATH})
    except NotReady:
        yield warning(
            "a server started by Claude Desktop gets a short PATH and won't find Claude Code",
            f'set {{"builder": {{"command": "{found}"}}}} in .ai/config.json, then {_REVIEW}',
        )


def rules(project: Project) -> Iterator[Finding]:
    """Whether the rules are approved, mean what they say, and our hooks work.

    Hooks are tried only as they were approved: a pulled file could name any command.
    """
    data = read(project.builder_settings)
    if data is None:
        yield error("there is no .ai/builder.settings.json", INIT)
        return
    copy = None
    try:
        copy = approved(project)
        yield good(f"the Builder's rules are approved, {copy}")
    except NotReady as problem:
        yield error(str(problem), _mend(project))
    try:
        settings = parse(data.decode("utf-8-sig"))
    except (JsonProblem, UnicodeDecodeError) as problem:
        yield error(f".ai/builder.settings.json: {problem}", "mend it by hand, then " + INIT)
        return
    yield from _dead_rules(settings, project.root)
    yield from _hooks(project, settings, may_run=copy is not None)


def keys(project: Project, config: Config, env: Mapping[str, str]) -> Iterator[Finding]:
    """API keys that would bill a run to an API account. No key is shown."""
    for name in stripped_keys(env, config):
        yield note(
            f"{name} is in the environment; the Builder does not get it and uses its own login",
            'to pass it on, set {"builder": {"inherit_api_key": true}} in .ai/config.json',
        )
    if config.builder.inherit_api_key:
        for name in API_KEYS:
            if env.get(name):
                yield note(f"the Builder gets {name} (builder.inherit_api_key): runs are billed "
                           "to that key's account")  # fmt: skip
    for file in _ENV_FILES:
        try:
            text = (read(project.root / file) or b"").decode(errors="replace")
        except OSError:
            continue
        for name in sorted(set(_KEY_LINE.findall(text))):
            yield warning(
                f"{file} of the project sets {name}: what the Builder starts may load it and "
                "bill runs to it",
                f"keep {name} outside of the project",
            )


def _mend(project: Project) -> str:
    return _REVIEW if read(approved_file(project)) else INIT


def dead_rule(rule: str, root: Path, *, denies: bool) -> str | None:
    """Why a rule does not do what it looks like; None when it does."""
    why = dead(rule)
    if why is None and denies and rule in ("Edit(~/**)", "Edit(~)"):
        home = Path.home()
        if root.is_relative_to(home):
            return f"it denies every change in this project too, which lies in {home}"
    return why


def _dead_rules(settings: dict[str, Any], root: Path) -> Iterator[Finding]:
    permissions = settings.get("permissions")
    if not isinstance(permissions, dict):
        yield error(".ai/builder.settings.json has no permissions: all is denied to the Builder",
                    "delete the file and " + INIT)  # fmt: skip
        return
    for kind in ("allow", "deny", "ask"):
        listed = permissions.get(kind)
        for rule in listed if isinstance(listed, list) else []:
            why = dead_rule(str(rule), root, denies=kind == "deny")
            if why:
                yield warning(f"the rule `{rule}` ({kind}) in .ai/builder.settings.json: {why}",
                              "correct it, then " + _REVIEW)  # fmt: skip
    try:
        wanted = f"Edit(/{rule_path(root)}/"
    except LoopError as problem:
        yield error(str(problem), "rename the folder")
        return
    allow, deny = (permissions.get(kind) or [] for kind in ("allow", "deny"))
    if not any(str(rule).startswith(wanted) or rule == "Edit" for rule in allow):
        yield warning(f"no rule lets the Builder change files in {root}",
                      f"allow `{wanted}**)`, then " + _REVIEW)  # fmt: skip
    if f"{wanted}.ai/**)" not in deny:
        yield warning("no rule keeps the Builder out of the queue in .ai/",
                      f"deny `{wanted}.ai/**)`, then " + _REVIEW)  # fmt: skip


def _hooks(project: Project, settings: dict[str, Any], *, may_run: bool) -> Iterator[Finding]:
    found = our_hooks(settings)
    for event in ("PreToolUse", "Stop"):
        hooks = found.get(event)
        if not hooks:
            yield error(f"our {event} hook is missing from .ai/builder.settings.json", INIT)
            continue
        if not may_run:
            continue
        problem = try_hook(project.root, event, hooks[0])
        if problem:
            yield error(f"our {event} hook does not work: {problem}", INIT)
        else:
            yield good(f"our {event} hook answers")
