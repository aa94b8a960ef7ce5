"""Our marked block in a text file that belongs to somebody else (CLAUDE.md, .gitignore).

Owns: finding, putting, replacing and removing the lines between our two markers. Does not own:
the file, its encoding, the words of the block. Read with `newline=""` (or bytes), or line endings
are lost before we see them.

Invariants: everything outside the block stays as it is, byte for byte. `put` twice is `put` once.
`remove` gives back exactly what `put` was given, as long as nobody changed the text around the
block. What was there before is told by the end of the text: a block that ends without a newline
was put into a text that had none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from loop.errors import LoopError


@dataclass(frozen=True)
class Markers:
    """The two lines around a block, in the comment syntax of the file."""

    begin: str
    end: str


HTML = Markers("<!-- loop:begin -->", "<!-- loop:end -->")
HASH = Markers("# loop:begin", "# loop:end")


@dataclass(frozen=True)
class _Block:
    before: str
    #: From the first character of the first marker to the last of the second one.
    text: str
    after: str


def put(text: str | None, body: str, markers: Markers, name: str) -> str:
    """The text with `body` as our block: at its old place, else at the end.

    `text` is None for a file that does not exist. `name` is the file's, for errors. The block
    gets the line endings of its surroundings.

    Raises: LoopError if the markers are damaged.
    """
    block = _find(text or "", markers, name)
    if block is not None:
        return block.before + _lines(body, markers, _newline(block.text)) + block.after
    newline = _newline(text or "")
    ours = _lines(body, markers, newline)
    if text is None:
        return ours + newline
    if not text:
        return ours
    if text.endswith("\n"):
        return text + newline + ours + newline
    return text + newline * 2 + ours


def remove(text: str, markers: Markers, name: str) -> str | None:
    """The text without our block; None if nothing else was ever there, so that the file can go.

    Raises: LoopError if the markers are damaged.
    """
    block = _find(text, markers, name)
    if block is None:
        return text
    before, after = block.before.rstrip(" \t"), block.after.lstrip(" \t")
    if not after:
        for separator in ("\r\n\r\n", "\n\n"):
            if before.endswith(separator):
                return before.removesuffix(separator)
        return before
    after = after.removeprefix("\r").removeprefix("\n")
    if not before and not after:
        return None
    for separator in ("\r\n", "\n"):
        # Only a blank line is our separator: the newline of a line of theirs stays.
        if before == separator or before.endswith("\n" + separator):
            return before.removesuffix(separator) + after
    return before + after


def contains(text: str, markers: Markers, name: str) -> bool:
    """Whether the text holds our block.

    Raises: LoopError if the markers are damaged.
    """
    return _find(text, markers, name) is not None


def _lines(body: str, markers: Markers, newline: str) -> str:
    lines = [markers.begin, *re.split(r"\r?\n", body.strip("\r\n")), markers.end]
    return newline.join(lines)


def _newline(text: str) -> str:
    first = re.search(r"\r?\n", text)
    return first.group() if first else "\n"


def _find(text: str, markers: Markers, name: str) -> _Block | None:
    begins = _places(text, markers.begin)
    ends = _places(text, markers.end)
    if not begins and not ends:
        return None
    if len(begins) == len(ends) == 1 and begins[0] < ends[0]:
        start, stop = begins[0], ends[0] + len(markers.end)
        return _Block(text[:start], text[start:stop], text[stop:])
    raise LoopError(
        f"{name}: the markers of our block are damaged: '{markers.begin}' stands "
        f"{_where(text, begins)}, '{markers.end}' {_where(text, ends)}; leave one pair in this "
        "order, or delete them all, and try again"
    )


def _places(text: str, marker: str) -> list[int]:
    """Where the marker stands alone on its line."""
    alone = rf"^\ufeff?[ \t]*({re.escape(marker)})[ \t]*\r?$"
    return [found.start(1) for found in re.finditer(alone, text, re.MULTILINE)]


def _where(text: str, places: list[int]) -> str:
    if not places:
        return "nowhere"
    numbers = [str(text.count("\n", 0, place) + 1) for place in places]
    return f"in line{'s' if len(numbers) > 1 else ''} " + " and ".join(numbers)
