"""The Builder's settings for one project: the template `builder.settings.json`, filled.

Does not own: the rules, the file in `.ai/`, its approval.

Invariant: the rules name this folder and no other.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from loop.core.rules import rule_path


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
