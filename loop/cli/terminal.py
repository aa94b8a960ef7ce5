"""Drawing views on a terminal, by rich. Imported only when a person looks."""

from __future__ import annotations

from typing import NoReturn

from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from loop.cli.view import Block, Cell, Line, Rows, View

#: Columns that a text which is cut keeps in any case.
_LEAST_TITLE = 24


class Terminal(Console):
    """A console that takes no text for markup and leaves a closed pipe to its caller."""

    def __init__(self) -> None:
        super().__init__(markup=False, emoji=False, highlight=False)

    def on_broken_pipe(self) -> NoReturn:
        """Called when nobody reads any more.

        Raises:
            BrokenPipeError: always.
        """
        raise BrokenPipeError


def draw(view: View) -> None:
    """Prints a view; lines are left to the terminal to wrap, so that paths can be copied whole."""
    console = Terminal()
    for block in view.blocks:
        console.print(_drawn(block, console.width), soft_wrap=isinstance(block, Line))


def drawn(view: View, width: int) -> Group:
    """The view as one thing that rich can draw again and again, `width` columns wide."""
    parts = (_indented(b) if isinstance(b, Line) else _drawn(b, width) for b in view.blocks)
    return Group(*parts)


def _indented(line: Line) -> RenderableType:
    """A line that is wrapped here: what comes below stands under its beginning."""
    return Padding(Text.assemble(*map(_text, line.cells)), (0, 0, 0, line.indent))


def _drawn(block: Block, width: int) -> RenderableType:
    if isinstance(block, Line):
        return Text.assemble(" " * block.indent, *map(_text, block.cells))
    inner = _table(block, width - block.indent) if isinstance(block, Rows) else Text(block.text)
    return Padding(inner, (0, 0, 0, block.indent))


def _table(block: Rows, width: int) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    for n in range(max(map(len, block.rows))):
        no_wrap = n < block.fixed if block.wrapped is None else n != block.wrapped
        table.add_column(no_wrap=no_wrap, overflow="fold")
    room = None if block.cut is None else max(_LEAST_TITLE, width - _others(block, block.cut))
    for row in block.rows:
        texts = list(map(_text, row))
        if block.cut is not None and block.cut < len(texts):
            texts[block.cut].truncate(room or 0, overflow="ellipsis")
        table.add_row(*texts)
    return table


def _others(block: Rows, column: int) -> int:
    """Columns of the terminal that the other columns of a table take, with what parts them."""
    widths = [0] * max(map(len, block.rows))
    for row in block.rows:
        for n, item in enumerate(row):
            widths[n] = max(widths[n], cell_len(item.text))
    return sum(widths) - widths[column] + 2 * len(widths)


def _text(cell: Cell) -> Text:
    return Text(cell.text, style=cell.style)
