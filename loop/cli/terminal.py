"""Drawing views on a terminal, by rich. Imported only when a person looks."""

from __future__ import annotations

from typing import NoReturn

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from loop.cli.view import Block, Cell, Line, Rows, View


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
        console.print(_drawn(block), soft_wrap=isinstance(block, Line))


def drawn(view: View) -> Group:
    """The view as one thing that rich can draw again and again."""
    return Group(*(_indented(b) if isinstance(b, Line) else _drawn(b) for b in view.blocks))


def _indented(line: Line) -> RenderableType:
    """A line that is wrapped here: what comes below stands under its beginning."""
    return Padding(Text.assemble(*map(_text, line.cells)), (0, 0, 0, line.indent))


def _drawn(block: Block) -> RenderableType:
    if isinstance(block, Line):
        return Text.assemble(" " * block.indent, *map(_text, block.cells))
    inner = _table(block) if isinstance(block, Rows) else Text(block.text)
    return Padding(inner, (0, 0, 0, block.indent))


def _table(block: Rows) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    for n in range(max(map(len, block.rows))):
        table.add_column(no_wrap=n < block.fixed, overflow="fold")
    for row in block.rows:
        table.add_row(*map(_text, row))
    return table


def _text(cell: Cell) -> Text:
    return Text(cell.text, style=cell.style)
