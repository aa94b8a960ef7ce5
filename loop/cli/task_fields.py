"""Fields of a task as arguments of a command line."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from loop.cli.parser import ids, number, priority, whole

if TYPE_CHECKING:
    from loop.core.task import TaskFields

#: Arguments that are fields of a task under the same name.
_SAME = ("title", "priority", "type", "target", "timeout_minutes", "max_turns", "max_budget_usd",
         "model", "max_attempts", "role")  # fmt: skip
_TITLE_CHARACTERS = 300
_FLAGS = {"instructions": "--instruction", "acceptance_criteria": "--criteria",
          "depends_on": "--depends", "parent": "--parent"}  # fmt: skip


def field_arguments(parser: ArgumentParser) -> None:
    """Adds what can be said of a task by those who queue or edit it."""
    add = parser.add_argument
    add("--instruction", metavar="TEXT", nargs="+", action="extend", help="what is to be done")
    add("--file", metavar="F", help="a text file with what is to be done; - reads stdin")
    add("--priority", metavar="P", type=priority, help="high, normal, low or a number")
    add("--type", metavar="T", help="the kind of work, such as implementation")
    add("--target", metavar="T", help="the path that it is about")
    add("--criteria", metavar="C", nargs="+", action="extend", help="when it is done")
    add("--depends", metavar="A,B", type=ids, action="extend",
        help="tasks that must have succeeded first")  # fmt: skip
    add("--role", metavar="R", help="architect, developer, tester or one of the project's own")
    add("--timeout-minutes", metavar="N", type=number(0, more_than=True), help="limit of a run")
    add("--max-turns", metavar="N", type=whole(1), help="limit of a run")
    add("--max-budget-usd", metavar="N", type=number(0, more_than=True), help="limit of a run")
    add("--model", metavar="M", help="the model that works on it")
    add("--max-attempts", metavar="N", type=whole(1), help="runs until the worker gives up")


def fields_to_add(given: Namespace) -> TaskFields:
    """The fields of a new task; with a title alone, it is the instruction, too.

    Raises:
        BadInput: a field or the file is wrong.
    """
    words = [given.description] if given.description else []
    instructions = words + _instructions(given)
    if not instructions:
        instructions = [given.title]
        if len(given.title) > _TITLE_CHARACTERS:  # too long for a title, so it is only the other
            given.title = None
    return _fields(given, instructions)


def fields_to_edit(given: Namespace) -> TaskFields:
    """What an edit changes.

    Raises:
        BadInput: a field or a file is wrong.
    """
    given_here = _fields(given, [*given.desc, *_instructions(given)])
    if given.fields is None:
        return given_here
    return _with_written(given_here, given.fields)


def _with_written(given_here: TaskFields, file: str) -> TaskFields:
    """The fields of a JSON file and those of the flags. Commands to run can't come that way."""
    from loop.core.checks import convert
    from loop.core.task import TaskFields, decode_object
    from loop.errors import BadInput

    try:
        written = decode_object(text_of(file, "--fields").encode())
    except BadInput as error:
        raise BadInput("--fields", error.problem) from None
    allowed = [*_SAME, "instructions", "acceptance_criteria", "depends_on"]
    strange = [key for key in written if key not in allowed]
    if strange:
        raise BadInput("--fields", f"can't change {strange[0]!r}; it takes {', '.join(allowed)}")
    twice = [key for key in given_fields(given_here) if key in written]
    if twice:
        raise BadInput("--fields", f"{twice[0]} is also given by its own option")
    flags = {key: getattr(given_here, key) for key in given_fields(given_here)}
    return convert(written | flags, TaskFields)


def _instructions(given: Namespace) -> list[str]:
    return [*(given.instruction or []), *([text_of(given.file)] if given.file is not None else [])]


def _fields(given: Namespace, instructions: list[str]) -> TaskFields:
    from loop.core.checks import convert
    from loop.core.task import TaskFields

    values: dict[str, Any] = {key: getattr(given, key) for key in _SAME}
    values["instructions"] = instructions or None
    values["acceptance_criteria"] = given.criteria
    values["depends_on"] = None if given.depends is None else list(dict.fromkeys(given.depends))
    values["parent"] = getattr(given, "parent", None)
    return convert({k: v for k, v in values.items() if v is not None}, TaskFields)


def text_of(file: str, flag: str = "--file") -> str:
    """The text of a file, or of stdin for `-`; `flag` named it.

    Raises:
        BadInput: it can't be read, is no text, too large or empty.
    """
    from loop.errors import BadInput

    shown = "stdin" if file == "-" else file
    try:
        text = bytes_of(flag, file).decode("utf-8-sig")
    except ValueError:
        raise BadInput(flag, f"{shown} is no text in UTF-8") from None
    if not text.strip():
        raise BadInput(flag, f"{shown} is empty")
    return text


def bytes_of(flag: str, file: str) -> bytes:
    """What is in a file that a flag names; `-` is stdin.

    Raises:
        BadInput: it can't be read, or is larger than a task may be.
    """
    from pathlib import Path

    from loop.core.checks import MAX_TASK_BYTES
    from loop.errors import BadInput

    shown = "stdin" if file == "-" else file
    try:
        if file == "-":
            data = sys.stdin.buffer.read(MAX_TASK_BYTES + 1) if sys.stdin is not None else b""
        else:
            with Path(file).open("rb") as stream:
                data = stream.read(MAX_TASK_BYTES + 1)
    except (OSError, ValueError) as error:  # a path with a NUL is a ValueError
        why = error.strerror if isinstance(error, OSError) else "no path"
        raise BadInput(flag, f"{shown} can't be read: {why}") from None
    if len(data) > MAX_TASK_BYTES:
        raise BadInput(flag, f"{shown} is larger than 4 MB; name the file in the instructions")
    return data


@contextmanager
def flags_named(title: str = "--title") -> Iterator[None]:
    """Names a wrong field as it is called on the command line."""
    from loop.errors import BadInput

    try:
        yield
    except BadInput as error:
        first, bracket, rest = error.field.partition("[")
        if first in _FLAGS or first in _SAME:
            flag = _FLAGS.get(first, "--" + first.replace("_", "-"))
            flag = title if first == "title" else flag
            raise BadInput(f"{flag}{bracket}{rest}", error.problem) from None
        raise


def given_fields(fields: TaskFields) -> list[str]:
    """Names of the fields that are not None."""
    import msgspec

    return [k for k, v in msgspec.structs.asdict(fields).items() if v is not None]
