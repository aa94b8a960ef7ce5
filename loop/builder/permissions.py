"""The Builder's rules: what the project asks for, and what the person approved.

The project's `.ai/builder.settings.json` is a request. What is passed to Claude Code is a copy of
it outside the repository, made when the person runs `loop init` or `loop allow`, and beside it lies
what the project's own files of Claude Code (builder/pinned.py) said then. So a pulled commit that
asks for more, or brings hooks or servers, starts nothing until it is approved. The same holds for
what the settings in `.ai/config.json`, which is in git, want executed: `builder.command` and the
commands of `verify` could be any program, and `builder.extra_args` could lift every rule.

A request for less needs no approval: it counts at once, by a file that is made of both. So does the
narrower file of a role. Both lie beside the copy.

Invariant: no file that `approved` or `settings_for` names allows more than the copy.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import platformdirs

from loop.builder.pinned import FileChange, file_changes, loaded_files, remember, remembered
from loop.core.config import Config
from loop.core.rule_set import ROLES, Change, changes, for_role, narrowed
from loop.core.task import decode_object
from loop.errors import BadInput, NotReady
from loop.store.files import read, replace
from loop.store.paths import Project
from loop.store.project_files import load_config

_REVIEW = "look at it with `loop allow --review`"
_NEVER = "the Builder's rules are not approved yet: run `loop init`"
_DERIVED = ("narrowed", *ROLES)


@dataclass(frozen=True, slots=True)
class Request:
    """What the project asks for, at one moment."""

    #: content of `.ai/builder.settings.json`; None when it is gone
    rules: bytes | None
    #: the files that Claude Code loads beside it, by name
    files: dict[str, str]
    #: what the settings want executed, as `asked_command` writes it; None for the defaults
    command: bytes | None = None


@dataclass(frozen=True, slots=True)
class Difference:
    """What a request has that the approval has not, and the other way round."""

    rules: list[Change]
    files: list[FileChange]
    #: what the settings want executed, by the name of the setting
    commands: list[Change]

    @property
    def more(self) -> bool:
        """Whether it must be approved before a run can start."""
        return bool(self.files) or any(c.more for c in (*self.rules, *self.commands))


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


def command_changes(asked: bytes | None, kept: bytes | None) -> list[Change]:
    """What the settings want executed beyond what was approved; a default is always approved."""
    now, then = (_settings(data) if data else {} for data in (asked, kept))
    differing = [name for name in dict.fromkeys([*then, *now]) if now.get(name) != then.get(name)]
    gone = [Change(n, False, json.dumps(then[n]), False) for n in differing if n in then]
    return gone + [Change(n, True, json.dumps(now[n]), True) for n in differing if n in now]


def check_command(project: Project, config: Config) -> None:
    """Does nothing if what the settings want executed is approved, or is the default.

    Raises:
        NotReady: it is not.
    """
    found = command_changes(asked_command(config), read(approved_command_file(project)))
    if any(change.more for change in found):
        raise NotReady(
            "permissions",
            "a command in .ai/config.json (builder.command, builder.extra_args or verify) is not "
            f"what was approved; {_REVIEW}",
        )


def request_of(project: Project) -> Request:
    """What the project asks for now.

    Raises:
        NotReady: a file can't be read, or the settings are wrong.
    """
    command = asked_command(load_config(project))
    return Request(read(project.builder_settings), loaded_files(project.root), command)


def difference(project: Project, request: Request) -> Difference:
    """How a request differs from what was approved.

    Raises:
        NotReady: nothing was approved, or the request's rules are no JSON object.
    """
    target = approved_file(project)
    copy = read(target)
    if copy is None:
        raise NotReady("permissions", _NEVER)
    found: list[Change] = []
    if request.rules is not None and request.rules != copy:
        found = changes(_settings(request.rules), _settings(copy, target))
    files = file_changes(request.files, remembered(_pinned_file(target)))
    commands = command_changes(request.command, read(approved_command_file(project)))
    return Difference(found, files, commands)


def approve(project: Project, request: Request | None = None) -> Path:
    """Makes what the project asks for the approved state; `request` is what the person saw of it.

    Raises:
        NotReady: the project's file is missing or no JSON object.
    """
    request = request or request_of(project)
    if request.rules is None:
        raise NotReady("permissions", "no .ai/builder.settings.json: run `loop init`")
    _settings(request.rules)
    target = keep(project, request.rules)
    remember(_pinned_file(target), request.files)
    _keep_command(project, request.command)
    return target


def _keep_command(project: Project, command: bytes | None) -> None:
    file = approved_command_file(project)
    if command is None:
        file.unlink(missing_ok=True)
    elif read(file) != command:
        replace(file, command)


def keep(project: Project, rules: bytes) -> Path:
    """Makes these rules the approved ones; the other files are not approved by it.

    Raises:
        NotReady: they are no JSON object.
    """
    _settings(rules)
    target = approved_file(project)
    target.parent.mkdir(parents=True, exist_ok=True)
    if read(target) != rules:
        replace(target, rules)
    return target


def carry_over(old: Project, project: Project, rules: bytes) -> Path:
    """Makes the rules of a project that was moved the approved ones, the other files as they were.

    Raises:
        NotReady: the rules are no JSON object.
    """
    target = keep(project, rules)
    remember(_pinned_file(target), remembered(_pinned_file(approved_file(old))))
    _keep_command(project, read(approved_command_file(old)))
    return target


def approved(project: Project) -> Path:
    """The settings that were approved, for `--settings`: never more than them.

    Raises:
        NotReady: nothing was approved, or the project asks for more since.
    """
    # What the settings want executed is `check_command`'s.
    request = Request(read(project.builder_settings), loaded_files(project.root))
    found = difference(project, request)
    if any(change.more for change in found.rules):
        raise NotReady(
            "permissions",
            f".ai/builder.settings.json asks for more than was approved; {_REVIEW}",
        )
    for file in found.files:
        raise NotReady("permissions", f"{file.path} {file.how} since it was approved; {_REVIEW}")
    target = approved_file(project)
    if not found.rules or request.rules is None:
        return target
    both = narrowed(_settings(read(target) or b"", target), _settings(request.rules))
    return _derived(target, "narrowed", both)


def settings_for(settings: Path, root: str, role: str | None) -> Path:
    """The file to pass for a run of this role, from the approved one; `root` as rules write it.

    Raises:
        NotReady: the approved file is gone or damaged.
    """
    if role is None or role not in ROLES:
        return settings
    whole = _settings(read(settings) or b"", settings)
    return _derived(settings, role, for_role(whole, root, role))


def forget(project: Project) -> None:
    """Removes the approved copy and all that lies beside it."""
    target = approved_file(project)
    beside = [target.with_name(f"{name}.settings.json") for name in _DERIVED]
    for file in (target, _pinned_file(target), approved_command_file(project), *beside):
        file.unlink(missing_ok=True)
    if target.parent.is_dir() and not any(target.parent.iterdir()):
        target.parent.rmdir()


def _pinned_file(target: Path) -> Path:
    return target.with_name("pinned.json")


def _derived(beside: Path, name: str, settings: dict[str, Any]) -> Path:
    target = beside.with_name(f"{name}.settings.json")
    data = (json.dumps(settings, indent=2, ensure_ascii=False) + "\n").encode()
    if read(target) != data:
        replace(target, data)
    return target


def _settings(data: bytes, where: Path | None = None) -> dict[str, Any]:
    try:
        return decode_object(data)
    except BadInput as error:
        named = where or ".ai/builder.settings.json"
        raise NotReady("permissions", f"{named}: {error}") from None
