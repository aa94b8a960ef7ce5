"""What a command has to say, before it is known where it is printed.

A view is a list of blocks: lines, rows of a table, paragraphs. `plain` gives its text for pipes,
where nothing is wrapped or cut; loop/cli/terminal.py draws it for people. Every text in a view is
harmless.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from loop.cli.wording import harmless, one_line

#: One glyph an outcome, and its colour.
GLYPHS = {
    "success": ("✓", "green"),
    "failure": ("✗", "red"),
    "needs_input": ("?", "yellow"),
    "running": ("▶", "cyan"),
    "queued": ("·", "dim"),
    "blocked": ("✗", "dim"),
    "paused": ("‖", "yellow"),
}


class Cell(NamedTuple):
    """A piece of one line."""

    text: str
    style: str = ""


class Line(NamedTuple):
    """Cells beside one another."""

    cells: tuple[Cell, ...]
    indent: int = 0


class Rows(NamedTuple):
    """Rows of cells under one another; the first `fixed` columns are never wrapped.

    The column `cut`, if any, is cut on a terminal, so that a row takes one line; of a table with a
    column `wrapped`, only that one is wrapped.
    """

    rows: list[tuple[Cell, ...]]
    fixed: int = 2
    indent: int = 0
    cut: int | None = None
    wrapped: int | None = None


class Paragraph(NamedTuple):
    """Text with lines of its own."""

    text: str
    indent: int = 0


Block = Line | Rows | Paragraph
Words = str | Cell


def cell(text: object, style: str = "") -> Cell:
    """A cell of any text."""
    return Cell(one_line(text), style)


def glyph(state: object) -> Cell:
    """The glyph of a state or outcome."""
    return Cell(*GLYPHS.get(str(state), ("·", "")))


class View:
    """Blocks in their order."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []

    def line(self, *words: Words, indent: int = 0) -> View:
        """Adds one line; spaces between the pieces are the caller's."""
        self.blocks.append(Line(tuple(map(_cell, words)), indent))
        return self

    def heading(self, text: str) -> View:
        """Adds an empty line, unless it is the first, and a heading."""
        if self.blocks:
            self.line()
        return self.line(cell(text, "bold"))

    def rows(
        self,
        rows: Iterable[tuple[Cell, ...]],
        *,
        fixed: int = 2,
        indent: int = 0,
        cut: int | None = None,
        wrapped: int | None = None,
    ) -> View:
        """Adds rows; nothing when there are none."""
        found = list(rows)
        if found:
            self.blocks.append(Rows(found, fixed, indent, cut, wrapped))
        return self

    def paragraph(self, text: object, *, indent: int = 0) -> View:
        """Adds a text of several lines."""
        self.blocks.append(Paragraph(harmless(text).rstrip(), indent))
        return self


def _cell(words: Words) -> Cell:
    return words if isinstance(words, Cell) else Cell(harmless(words).replace("\n", " "))


def plain(view: View) -> str:
    """The view as text, without colours; no line is wrapped, nothing is cut."""
    lines: list[str] = []
    for block in view.blocks:
        margin = " " * block.indent
        if isinstance(block, Line):
            texts = ["".join(c.text for c in block.cells)]
        elif isinstance(block, Rows):
            texts = _aligned(block.rows)
        else:
            texts = block.text.split("\n")
        lines += [(margin + text).rstrip() for text in texts]
    return "".join(f"{line}\n" for line in lines)


def _aligned(rows: list[tuple[Cell, ...]]) -> list[str]:
    widths = [0] * max(map(len, rows))
    for row in rows:
        for n, item in enumerate(row[:-1]):
            widths[n] = max(widths[n], len(item.text))
    return [
        "  ".join(item.text.ljust(widths[n]) for n, item in enumerate(row[:-1]))
        + ("  " if len(row) > 1 else "")
        + row[-1].text
        for row in rows
    ]
