"""Reading a command line: options anywhere, every mistake told in one line.

Owns what is common to all commands. Nothing that a command needs to act is imported here, so that
`--help` and a mistake are answered at once.
"""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple, NoReturn

#: Put before words that are no options; no command line can hold it, so none is taken for one.
_PLAIN = "\0"
#: Characters of a mistake that are told.
_MOST = 300


class UsageError(Exception):
    """Raised when a command line is wrong. The message is one line; nothing was done."""


class Parser(argparse.ArgumentParser):
    """A parser that raises instead of printing its whole usage."""

    def error(self, message: str) -> NoReturn:
        """Tells what is wrong with the command line.

        Raises:
            UsageError: always.
        """
        _, _, command = self.prog.partition(" ")
        message = message.removeprefix("argument ").replace("unrecognized", "unknown")
        message = message.replace(_PLAIN, "").replace(repr(_PLAIN)[1:-1], "")
        message = message if len(message) <= _MOST else f"{message[: _MOST - 1]}…"
        raise UsageError(f"{command}: {message}; `{self.prog} --help` says what is allowed")


class Command(NamedTuple):
    """One command: how it is called and what it does."""

    name: str
    group: str
    #: one line for the list of commands
    summary: str
    #: whole sentences for `--help`
    description: str
    arguments: Callable[[argparse.ArgumentParser], None]
    action: Callable[[argparse.Namespace], int]
    #: whether it prints data, so that it takes `--json`
    prints_data: bool = True


def parser_of(command: Command) -> Parser:
    """The parser of one command."""
    parser = Parser(
        prog=f"loop {command.name}",
        description=command.description,
        allow_abbrev=False,
    )
    command.arguments(parser)
    parser.add_argument(
        "--project",
        metavar="DIR",
        type=folder,
        help="the project's folder; without it, the nearest folder above that was set up",
    )
    if command.prints_data:
        parser.add_argument("--json", action="store_true", help="print data for programs, as JSON")
    return parser


def parse(command: Command, words: Sequence[str], project: str | None) -> argparse.Namespace:
    """The arguments of a command; `project` was given before it.

    Raises:
        UsageError: an argument is wrong.
        SystemExit: help was asked for, and printed.
    """
    parser = parser_of(command)
    parser.set_defaults(project=project)
    given = parser.parse_intermixed_args(_protected(words))
    for name, value in vars(given).items():
        setattr(given, name, _bared(value))
    return given


def _protected(words: Sequence[str]) -> list[str]:
    words = list(words)
    end = words.index("--") if "--" in words else len(words)
    # argparse takes the dashes of `--reason=--` for those that end the options, and gives no value.
    options = [re.sub(r"\A(--[^=]*=)--\Z", rf"\1{_PLAIN}--", word) for word in words[:end]]
    return [*options, *(_PLAIN + word for word in words[end + 1 :])]


def _bared(value: object) -> object:
    if isinstance(value, list):
        return [_bared(item) for item in value]
    return value.removeprefix(_PLAIN) if isinstance(value, str) else value


def whole(least: int) -> Callable[[str], int]:
    """A type for whole numbers from `least` on."""

    def convert(text: str) -> int:
        if re.fullmatch(r"[0-9]{1,9}", text, re.ASCII) and int(text) >= least:
            return int(text)
        raise _wrong(f"a whole number, {least} or more", text)

    return convert


def number(least: float, *, more_than: bool = False) -> Callable[[str], float]:
    """A type for numbers from `least` on, or only above it."""

    def convert(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if math.isfinite(value) and (value > least or (value == least and not more_than)):
            return value
        bound = f"more than {least:g}" if more_than else f"{least:g} or more"
        raise _wrong(f"a number, {bound}", text)

    return convert


def priority(text: str) -> str | int:
    """A type for priorities."""
    if text in ("high", "normal", "low"):
        return text
    if re.fullmatch(r"[+-]?[0-9]{1,7}", text, re.ASCII):
        return int(text)
    raise _wrong("high, normal, low or a whole number (smaller comes first)", text)


def folder(text: str) -> str:
    """A type for folders, which may not be the empty text."""
    if text:
        return text
    raise _wrong("a folder", text)


def name(text: str) -> str:
    """A type for names, which may not be blank."""
    if text.strip():
        return text
    raise _wrong("a name", text)


def _wrong(allowed: str, text: str) -> argparse.ArgumentTypeError:
    shown = text if len(text) <= 60 else f"{text[:59]}…"
    return argparse.ArgumentTypeError(f"give {allowed}, not {shown!r}")


def ids(text: str) -> list[str]:
    """Ids of tasks behind one option, with commas between; none for an empty text."""
    return [part.strip() for part in text.split(",") if part.strip()]
