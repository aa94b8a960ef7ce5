"""All commands, and the top of the command line: `loop [--project DIR] COMMAND ...`."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from functools import partial

from loop import __version__
from loop.cli import (
    adding,
    allow,
    changes,
    importing,
    log,
    notify,
    pausing,
    reset,
    review,
    service,
    setup,
    shift,
    status,
    timeline,
)
from loop.cli.parser import Command, UsageError, folder, parse
from loop.cli.printing import write

GROUPS = ("Set up", "Day by day", "In a shift, which /loop:run begins", "Look")
_MODULES = (
    setup, allow, importing, adding, changes, pausing, reset, review, service, notify, shift,
    status, timeline, log,
)  # fmt: skip
COMMANDS: dict[str, Command] = {
    command.name: command for module in _MODULES for command in module.COMMANDS
}
_HINT = "`loop --help` lists the commands"


def read(words: Sequence[str]) -> Callable[[], int]:
    """What a command line asks for, ready to be done.

    Raises:
        UsageError: it is wrong.
        SystemExit: help was asked for, and printed.
    """
    project, rest = _options_before(list(words))
    if not rest:
        given = argparse.Namespace(project=project)
        return partial(service.alone, given)
    first, *others = rest
    if first in ("-h", "--help"):
        return partial(_say, top_help())
    if first == "--version":
        return partial(_say, f"loop {__version__}\n")
    if first.startswith("-"):
        raise UsageError(f"unknown option {first!r:.70}; {_HINT}")
    if first not in COMMANDS:
        raise UsageError(f"unknown command {first!r:.70}{_alike(first)}; {_HINT}")
    command = COMMANDS[first]
    return partial(command.action, parse(command, others, project))


def _options_before(words: list[str]) -> tuple[str | None, list[str]]:
    project = None
    while words and words[0].partition("=")[0] == "--project":
        option, equals, value = words.pop(0).partition("=")
        if not equals and not words:
            raise UsageError(f"{option}: give a folder; {_HINT}")
        try:
            project = folder(value if equals else words.pop(0))
        except argparse.ArgumentTypeError as error:
            raise UsageError(f"{option}: {error}") from None
    return project, words


def _alike(word: str) -> str:
    import difflib

    close = difflib.get_close_matches(word, COMMANDS, 1)
    return f", did you mean `{close[0]}`?" if close else ""


def _say(text: str) -> int:
    write(text)
    return 0


def top_help() -> str:
    """What `loop --help` prints."""
    lines = [
        "usage: loop [--project DIR] COMMAND ...",
        "",
        "Claude Desktop plans, Claude Code builds; loop runs the queue between them.",
        "Without a command it works on the queue and shows what happens.",
    ]
    for group in GROUPS:
        lines += ["", f"{group}:"]
        lines += [f"  {c.name:<13} {c.summary}" for c in COMMANDS.values() if c.group == group]
    lines += [
        "",
        "Options:",
        "  --project DIR the project's folder; else the nearest one above that was set up",
        "  --version     print the version",
        "  -h, --help    print this; `loop COMMAND --help` says all about one command",
        "",
        "Examples:",
        "  loop init ~/shop                                set a project up",
        '  loop add "Fix the login page" --priority high   queue a task for Claude Code',
    ]
    return "\n".join(lines) + "\n"
