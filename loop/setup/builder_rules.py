"""The file `.ai/builder.settings.json`: made once, then the person's, except for our two hooks.

Owns: the hooks' command, making it current in a file that is there, and the folder that the rules
name when the project was moved. Does not own: the rules themselves, their approval.

Invariant: what is not ours in the file stays byte for byte.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path
from typing import Any

from loop.core.rules import rule_path
from loop.errors import LoopError
from loop.setup.builder_settings import builder_settings
from loop.setup.json_text import JsonProblem, get_value, set_value
from loop.templates import template

#: How our hooks are told apart from a person's own, by what their command holds.
_OURS = re.compile(r"loop\.hooks\.entry|loop-hook")


def hook_command(python: Path, platform: str = sys.platform) -> str:
    """The shell command of our hooks: this interpreter, by its absolute path.

    Isolated (`-I`): nothing in the project's folder or the environment changes what is imported.
    """
    arguments = ["-I", "-m", "loop.hooks.entry"]
    if platform == "win32":
        # Claude Code may give it to Git's bash or to cmd: both read this form.
        return " ".join([f'"{python.absolute().as_posix()}"', *arguments])
    return shlex.join([str(python.absolute()), *arguments])


def new_rules(root: Path, hook: str) -> bytes:
    """The file for a project that has none.

    Raises: LoopError if rules can't name the folder.
    """
    settings = builder_settings(template("builder.settings.json"), root, hook)
    return (json.dumps(settings, indent=2, ensure_ascii=False) + "\n").encode()


def current_rules(content: bytes, root: Path, hook: str, *, moved_from: Path | None) -> bytes:
    """The person's file with our hooks current, and the rules for `moved_from` now for `root`.

    Raises: LoopError if the file can't be understood.
    """
    wanted = builder_settings(template("builder.settings.json"), root, hook)["hooks"]
    try:
        # A byte order mark is never written: Claude Code does not expect one.
        text = content.decode("utf-8-sig")
        for event, groups in wanted.items():
            old = get_value(text, ["hooks", event])
            new = _with_ours(old, groups[0])
            if new != old:
                text = set_value(text, ["hooks", event], new)
        if moved_from is not None and moved_from != root:
            text = _moved(text, moved_from, root)
    except (JsonProblem, UnicodeDecodeError) as problem:
        raise LoopError(
            f".ai/builder.settings.json: {problem}; mend it by hand, or delete it to have it "
            "made anew, and run `loop init` again"
        ) from None
    return text.encode()


def our_hooks(settings: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Our hooks in the settings, by the name of their event."""
    events = settings.get("hooks")
    return {
        event: [
            hook
            for group in (groups if isinstance(groups, list) else [])
            if isinstance(group, dict)
            for hook in _hooks_of(group)
            if _is_ours(hook)
        ]
        for event, groups in (events.items() if isinstance(events, dict) else ())
    }


def _with_ours(old: Any, ours: dict[str, Any]) -> list[Any]:
    """The groups of one event with our hook in them once, its command current."""
    groups = json.loads(json.dumps(old)) if isinstance(old, list) else []
    command = ours["hooks"][0]["command"]
    found = False
    for group in groups:
        hooks = _hooks_of(group)
        if not any(_is_ours(hook) for hook in hooks):
            continue
        kept = []
        for hook in hooks:
            if not _is_ours(hook):
                kept.append(hook)
            elif not found:
                found = True
                kept.append(hook | {"command": command})
        group["hooks"] = kept
    groups = [group for group in groups if not isinstance(group, dict) or group.get("hooks") != []]
    return groups if found else [*groups, ours]


def _hooks_of(group: Any) -> list[Any]:
    hooks = group.get("hooks") if isinstance(group, dict) else None
    return hooks if isinstance(hooks, list) else []


def _is_ours(hook: Any) -> bool:
    command = hook.get("command") if isinstance(hook, dict) else None
    return isinstance(command, str) and bool(_OURS.search(command))


def _moved(text: str, old: Path, new: Path) -> str:
    before, after = f"(/{rule_path(old)}/", f"(/{rule_path(new)}/"
    for kind in ("allow", "deny", "ask"):
        rules = get_value(text, ["permissions", kind])
        if not isinstance(rules, list):
            continue
        renamed = [_renamed(rule, before, after) for rule in rules]
        if renamed != rules:
            text = set_value(text, ["permissions", kind], renamed)
    return text


def _renamed(rule: Any, before: str, after: str) -> Any:
    return rule.replace(before, after) if isinstance(rule, str) else rule
