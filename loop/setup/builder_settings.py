"""The Builder's settings for one project: the template `builder.settings.json`, filled.

Owns: how a folder is written in a permission rule. Does not own: the rules, the file in `.ai/`, its
approval.

Invariant: the rules name this folder and no other. Rules are patterns, so characters of the path
that mean something there are escaped, and a path that can't be written exactly is refused.
"""

from __future__ import annotations

import json
import re
from pathlib import Path, PurePath
from typing import Any

from loop.errors import LoopError


def builder_settings(template: str, root: Path, hook: str) -> dict[str, Any]:
    """The settings for the project at `root`; `hook` is the shell command of `loop-hook`, quoted.

    Raises: LoopError if the rules can't name the folder.
    """
    values = {"{{root}}": rule_path(root.resolve()), "{{hook}}": hook}

    def fill(value: Any) -> Any:
        match value:
            case dict():
                return {key: fill(item) for key, item in value.items()}
            case list():
                return [fill(item) for item in value]
            case str():
                for placeholder, text in values.items():
                    value = value.replace(placeholder, text)
        return value

    settings: dict[str, Any] = fill(json.loads(template))
    return settings


def rule_path(root: PurePath) -> str:
    """The absolute path, as it follows the first `/` of a rule such as `Edit(//home/me/app/**)`.

    On Windows `C:\\app` is `/c/app`.

    Raises: LoopError if it can't be written in a rule.
    """
    path = root.as_posix()
    if root.drive.endswith(":"):
        path = "/" + root.drive[0].lower() + path.removeprefix(root.drive)
    if re.search(r"[?\\\x00-\x1f]", path):
        raise LoopError(
            f"{str(root)!r}: Claude Code's permission rules can't name a folder with '?', '\\' or "
            "a control character in its path; rename it and try again"
        )
    return re.sub(r"[\[\]*{}()!#]", r"\\\g<0>", path)
