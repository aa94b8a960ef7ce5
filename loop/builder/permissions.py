"""The Builder's rules: what the project asks for, and what the person approved.

The project's `.ai/builder.settings.json` is a request. What is passed to Claude Code is a copy of
it outside the repository, made when the person runs `loop init`. So a pulled commit that widens the
rules changes nothing until it is approved. The same holds for what the settings in
`.ai/config.json`, which is in git, want executed: `builder.command` and the commands of `verify`
could be any program, and `builder.extra_args` could lift every rule.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import platformdirs

from loop.core.config import Config
from loop.core.task import decode_object
from loop.errors import BadInput, NotReady
from loop.store.files import read, replace
from loop.store.paths import Project
from loop.store.project_files import load_config


def approved_file(project: Project) -> Path:
    """Where the approved copy lies, in the user's own state folder."""
    digest = hashlib.sha256(str(project.root).encode()).hexdigest()[:12]
    folder = platformdirs.user_state_path("loop", appauthor=False)
    return folder / f"{project.name}-{digest}" / "builder.settings.json"


def approved_command_file(project: Project) -> Path:
    """Where what the settings want executed is kept; absent for the defaults."""
    return approved_file(project).with_name("command.json")


def asked_command(config: Config) -> bytes | None:
    """What the settings want executed, as it is kept when approved; None for the defaults."""
    builder, verify = config.builder, config.verify
    asked = {
        "builder.command": builder.command,
        "builder.extra_args": builder.extra_args,
        "verify.test_command": verify.test_command,
        "verify.lint_command": verify.lint_command,
    }
    wanted = {name: value for name, value in asked.items() if value}
    return json.dumps(wanted).encode() + b"\n" if wanted else None


def check_command(project: Project, config: Config) -> None:
    """Does nothing if what the settings want executed is approved, or is the default.

    Raises:
        NotReady: it is not.
    """
    asked = asked_command(config)
    if asked is not None and asked != read(approved_command_file(project)):
        raise NotReady(
            "permissions",
            "a command in .ai/config.json (builder.command, builder.extra_args or verify) is not "
            "what was approved; look at it, then run `loop init` to approve it",
        )


def approve(project: Project) -> Path:
    """Makes the project's rules, and what its settings want executed, the approved ones.

    Raises:
        NotReady: the project's file is missing or no JSON object, or the settings are wrong.
    """
    data = read(project.builder_settings)
    if data is None:
        raise NotReady("permissions", "no .ai/builder.settings.json: run `loop init`")
    _check(data)
    command = asked_command(load_config(project))
    target, beside = approved_file(project), approved_command_file(project)
    target.parent.mkdir(parents=True, exist_ok=True)
    if command is None:
        beside.unlink(missing_ok=True)
    elif read(beside) != command:
        replace(beside, command)
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
    """Removes what was approved."""
    target = approved_file(project)
    target.unlink(missing_ok=True)
    approved_command_file(project).unlink(missing_ok=True)
    if target.parent.is_dir() and not any(target.parent.iterdir()):
        target.parent.rmdir()
