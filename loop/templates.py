"""The place of the templates that are shipped inside the package, and reading them."""

from __future__ import annotations

from pathlib import Path

from loop.errors import LoopError


def scaffolding() -> Path:
    """The folder of the templates: inside an installed package, or beside it in a checkout."""
    package = Path(__file__).resolve().parent
    for place in (package / "scaffolding", package.parent / "scaffolding"):
        if (place / "CLAUDE.md").is_file():
            return place
    raise LoopError(f"the templates are missing from {package}: install the package again")


def template(name: str, **values: str) -> str:
    """The text of a template, with each `{{name}}` replaced by its value."""
    text = (scaffolding() / name).read_text(encoding="utf-8")
    for key, value in values.items():
        text = text.replace("{{" + key + "}}", value)
    return text
