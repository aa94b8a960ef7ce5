"""Presets: the usual commands of a kind of project, to allow by one name.

Owns: their names, reading them. Each is a template `presets/NAME.json`: its rules, and why no more.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from loop.templates import template

#: The names that `loop init --preset` takes.
PRESETS = ("salesforce", "node", "python")


def preset_rules(names: Sequence[str]) -> list[str]:
    """The rules of these presets, each once."""
    rules: list[str] = []
    for name in names:
        rules += json.loads(template(f"presets/{name}.json"))["allow"]
    return list(dict.fromkeys(rules))
