"""Columns that share the width of a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.cells import cell_len
from rich.console import JustifyMethod
from rich.table import Table
from rich.text import Text

_SEPARATOR_WIDTH = 3


class Column:
    """A column of the grid, and how narrow it may become."""

    def __init__(
        self, title: str, cells: Sequence[Text], *, narrowest: int = 0, justify: JustifyMethod = "left"
    ) -> None:
        self.title = title
        self.justify = justify
        self.cells = cells
        texts = [title, *(cell.plain for cell in cells)]
        self.widest = max(cell_len(line) for text in texts for line in text.split("\n"))
        self.narrowest = max(cell_len(word) for text in texts for word in text.split() or [""])
        self.narrowest = max(self.narrowest, min(narrowest, self.widest))
        self.width: int | None = None  # as the console likes

    def needs(self) -> int:
        """What it lacks, at its narrowest, to break no line."""
        return self.widest - self.narrowest

    def widen(self, room: int) -> int:
        """Take of the room what it needs, and tell how much that is."""
        taken = min(room, self.needs())
        self.width = self.narrowest + taken
        return taken


def lay_out(columns: Sequence[Column], width: int | None) -> Table | None:
    """Lay out columns side by side; None if the width is too small for the words of all.

    Args:
        width: of the terminal; None leaves it to the console.
    """
    if width is not None:
        room = width - sum(column.narrowest for column in columns) - _SEPARATOR_WIDTH * (len(columns) - 1)
        if room < 0:
            return None
        for column in sorted(columns, key=Column.needs):  # whoever needs little gets it: most rows then take one line
            room -= column.widen(room)
    table = Table(box=box.MINIMAL, pad_edge=False, show_edge=False)
    for column in columns:
        table.add_column(Text(column.title), width=column.width, justify=column.justify, overflow="fold")
    for cells in zip(*(column.cells for column in columns), strict=True):
        table.add_row(*cells)
    return table
