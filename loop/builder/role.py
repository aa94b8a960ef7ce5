"""The text of a role, for the system prompt of a run: the project's own, else ours.

`.ai/roles/NAME.md` of the project overrides the text that comes with the package, and can name
roles that we do not have. A role that neither has is carried out as developer, with a warning.
"""

from __future__ import annotations

import stat
from pathlib import Path

from loop.core.role import DEFAULT, ROLES, role_name
from loop.errors import BadInput
from loop.store.paths import Project
from loop.templates import template

#: It becomes a part of one argument of a command line.
MAX_ROLE_BYTES = 8192


def role_text(project: Project, role: str | None) -> tuple[str, str | None]:
    """The text of a role, and a warning when it is not quite the one that was meant."""
    name = role_name(role)
    problem = ""
    if name is not None:
        own, problem = _own(project, name)
        if own:
            return own, None
        if name in ROLES:
            return template(f"roles/{name}.md"), problem or None
    known = f"known are {', '.join(ROLES)}, and each .ai/roles/NAME.md"
    why = f"; {problem}" if problem else ""
    text, _ = role_text(project, DEFAULT)
    return text, f"unknown role {role!r:.60}, carried out as {DEFAULT}; {known}{why}"


def _own(project: Project, name: str) -> tuple[str | None, str]:
    """The project's own text of a role, or why it is not used; neither when there is none."""
    try:
        return _read(project, project.ai / "roles" / f"{name}.md"), ""
    except FileNotFoundError:
        return None, ""
    except (BadInput, OSError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        return None, f".ai/roles/{name}.md is not used: {why}"


def _read(project: Project, path: Path) -> str | None:
    if not stat.S_ISREG(path.stat().st_mode):
        raise BadInput("", "it is not a file")
    # A link that came with the repository must not send another file of this machine along.
    if not path.resolve().is_relative_to(project.root):
        raise BadInput("", "it is a link to a place outside the project")
    with path.open("rb") as file:
        data = file.read(MAX_ROLE_BYTES + 1)
    if len(data) > MAX_ROLE_BYTES:
        raise BadInput("", f"it is longer than {MAX_ROLE_BYTES} bytes; shorten it")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadInput("", "it is not UTF-8 text") from None
    if "\0" in text:
        raise BadInput("", "it holds a NUL character")
    return text.strip() or None
