"""Looking at the log of a task: readable, or the bytes as they are."""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from loop.cli.parser import Command, UsageError

if TYPE_CHECKING:
    from loop.cli.log_entries import Entry
    from loop.store.paths import Project

#: Seconds between two looks at the file.
_LOOK_S = 1.0
_BLOCK_BYTES = 1 << 20


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("task_id", metavar="ID", help="the task, such as 42 or 42.1")
    parser.add_argument(
        "-f", "--follow", action="store_true", help="go on until the task has ended"
    )
    parser.add_argument("--raw", action="store_true", help="the bytes of the log as they are")


def log(given: Namespace) -> int:
    """Prints who did what in the runs of a task.

    Raises:
        NotFound: no such task, or it has not run yet.
    """
    from loop.actions.session_seen import where_to_look
    from loop.cli.place import project_of, utc_now
    from loop.cli.printing import complain
    from loop.errors import NotFound
    from loop.store.archive import log_of
    from loop.store.scan import locate

    if given.raw and given.json:
        raise UsageError("log: give --raw or --json, not both")
    project = project_of(given)
    located = locate(project, given.task_id, utc_now())
    task_id = located.task.id
    path = log_of(project, task_id)
    look = where_to_look(located.task)
    waits = given.follow and not (look and located.state == "running")
    if not path.exists() and not waits:
        raise NotFound(look or f"task {task_id} has no log: it is {located.state} and has not run")
    blocks = _following(project, task_id, path) if waits else _blocks(path, 0)
    if given.raw:
        _write_raw(blocks)
    else:
        _print(blocks, given)
    if look and not waits:
        complain(look)
    return 0


def _blocks(path: Path, offset: int) -> Iterator[bytes]:
    try:
        with path.open("rb") as file:
            file.seek(offset)
            while block := file.read(_BLOCK_BYTES):
                yield block
    except FileNotFoundError:
        return


def _following(project: Project, task_id: str, path: Path) -> Iterator[bytes]:
    """What is in the log and comes to it, until the task is neither queued nor running."""
    from loop.cli.place import utc_now
    from loop.store.scan import locate

    offset = 0
    while True:
        open_yet = locate(project, task_id, utc_now()).state in ("queued", "running")
        for block in _blocks(path, offset):
            offset += len(block)
            yield block
        if not open_yet:
            return
        time.sleep(_LOOK_S)


def _write_raw(blocks: Iterator[bytes]) -> None:
    if sys.stdout is None:
        return
    sys.stdout.flush()
    for block in blocks:
        sys.stdout.buffer.write(block)
        sys.stdout.buffer.flush()


def _lines(blocks: Iterator[bytes]) -> Iterator[list[bytes]]:
    """The whole lines of each block; what is cut at the end comes last."""
    rest = b""
    for block in blocks:
        *whole, rest = (rest + block).split(b"\n")
        yield whole
    if rest:
        yield [rest]


def _print(blocks: Iterator[bytes], given: Namespace) -> None:
    from loop.cli.log_entries import entries, entry_view
    from loop.cli.printing import show, write_json

    found: list[Entry] = []
    for lines in _lines(blocks):
        news = [entry for line in lines for entry in entries(line)]
        if given.json and given.follow:
            for entry in news:
                write_json(entry._asdict(), indent=None)
        elif given.json:
            found += news
        elif news:
            show(entry_view(news))
    if given.json and not given.follow:
        write_json([entry._asdict() for entry in found])


COMMANDS = (
    Command(
        "log",
        "Look",
        "show what Claude Code did for a task",
        "Show who did what in the runs of a task: what Claude Code says, each tool call and how\n"
        "it went. With --json the entries are one list; with -f --json each is a JSON document\n"
        "on a line of its own.",
        _arguments,
        log,
    ),
)
