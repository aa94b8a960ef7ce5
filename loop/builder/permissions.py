"""The Builder's rules: what the project asks for, and what the person approved.

The project's `.ai/builder.settings.json` is a request. What is passed to Claude Code is a copy of
it outside the repository, made when the person runs `loop init`. So a pulled commit that widens the
rules changes nothing until it is approved.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import platformdirs

from loop.core.task import decode_object
from loop.errors import BadInput, NotReady
from loop.store.files import read, replace
from loop.store.paths import Project


def approved_file(project: Project) -> Path:
    """Where the approved copy lies, in the user's own state folder."""
    digest = hashlib.sha256(str(project.root).encode()).hexdigest()[:12]
    folder = platformdirs.user_state_path("loop", appauthor=False)
    return folder / f"{project.name}-{digest}" / "builder.settings.json"


def approve(project: Project) -> Path:
    """Makes the project's rules the approved ones.

    Raises:
        NotReady: the project's file is missing or no JSON object.
    """
    data = read(project.builder_settings)
    if data is None:
        raise NotReady("permissions", "no .ai/builder.settings.json: run `loop init`")
    _check(data)
    target = approved_file(project)
    target.parent.mkdir(parents=True, exist_ok=True)
    if read(target) != data:
        replace(target, data)
    return target


def approved(project: Project) -> Path:
    """The approved copy, for `--settings`.

    Raises:
        NotReady: nothing was approved, or the project asks for something else since.
    """
    target = approved_file(project)
    copy = read(target)
    if copy is None:
        raise NotReady("permissions", "the Builder's rules are not approved yet: run `loop init`")
    asked = read(project.builder_settings)
    if asked is not None and asked != copy:
        raise NotReady(
            "permissions",
            ".ai/builder.settings.json differs from what was approved; "
            "look at it, then run `loop init` to approve it",
        )
    return target


def _check(data: bytes) -> None:
    try:
        decode_object(data)
    except BadInput as error:
        raise NotReady("permissions", f".ai/builder.settings.json: {error}") from None


def forget(project: Project) -> None:
    """Removes the approved copy."""
    target = approved_file(project)
    target.unlink(missing_ok=True)
    if target.parent.is_dir() and not any(target.parent.iterdir()):
        target.parent.rmdir()
