"""Where the words of a command go: to a terminal, into a pipe, or as JSON."""

from __future__ import annotations

import json
import os
import sys

from loop.cli.view import View, plain
from loop.cli.wording import for_person
from loop.core.mask import masked_data
from loop.errors import LoopError


def show(view: View) -> None:
    """Prints a view, drawn on a terminal and plain elsewhere."""
    if to_terminal():
        from loop.cli.terminal import draw

        draw(view)
    else:
        write(plain(view))


def say(*words: str) -> None:
    """Prints one line."""
    show(View().line(*words))


def to_terminal() -> bool:
    """Whether stdout is looked at by a person, or colours are asked for."""
    return bool(os.environ.get("FORCE_COLOR")) or (sys.stdout is not None and sys.stdout.isatty())


def write(text: str) -> None:
    """Writes text to stdout at once; nowhere when stdout is closed.

    Raises:
        BrokenPipeError: nobody reads it any more.
        LoopError: it can't be written.
    """
    if sys.stdout is None:
        return
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        drop_output()
        raise
    except OSError as error:
        drop_output()
        raise LoopError(f"can't write the output: {error.strerror or error}") from None


def drop_output() -> None:
    """Keeps the interpreter from complaining at its end of what it can't write."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def write_json(data: object, *, indent: int | None = 2) -> None:
    """Writes one JSON document and a newline, secrets hidden, in ASCII that steers no terminal."""
    write(f"{json.dumps(masked_data(data), indent=indent)}\n")


def complain(message: str) -> None:
    """One line on stderr about what went wrong."""
    if sys.stderr is not None:
        sys.stderr.write(f"loop: {for_person(message)}\n")
        sys.stderr.flush()


def bear_any_text() -> None:
    """Has characters that stdout or stderr can't encode written as escapes."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
