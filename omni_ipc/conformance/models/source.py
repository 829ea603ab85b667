"""The text of a module, by places in it."""

from __future__ import annotations

import re
from typing import NamedTuple


class Region(NamedTuple):
    """From one place to another; lines and columns count from 1, and the last column belongs to it."""

    first_line: int
    first_column: int
    last_line: int
    last_column: int


class Source:
    """One module."""

    def __init__(self, text: str) -> None:
        self._lines = text.splitlines()

    def code(self, region: Region) -> str:
        """The text of a region on lines of its own, each column kept: conjunctions in lists go by columns."""
        lines = self._lines[region.first_line - 1 : region.last_line]
        lines[-1] = lines[-1][: region.last_column]
        begin = region.first_column - 1
        lines[0] = " " * begin + lines[0][begin:]
        return "\n".join(lines)

    def code_before(self, outer: Region, inner: Region) -> str:
        """The part of ``outer`` that precedes ``inner``, on lines of its own: the definitions of a LET."""
        until = Region(outer.first_line, outer.first_column, inner.first_line, inner.first_column - 1)
        return self.code(until) + "\n"

    def text(self, region: Region) -> str:
        """The text of a region in one line, without comments."""
        return " ".join(re.sub(r"\\\*[^\n]*|\(\*.*?\*\)", " ", self.code(region), flags=re.DOTALL).split())

    def comment_above(self, line: int) -> str:
        """The comment that ends right above a line, in one line; empty if there is none."""
        last = line - 1
        first = last
        while first > 0 and (begin := self._comment_that_ends_at(first)) is not None:
            first = begin - 1
        words = " ".join(self._lines[first:last])
        return " ".join(re.sub(r"\(\*+|\*+\)|\\\*+", " ", words).split())

    def _comment_that_ends_at(self, line: int) -> int | None:
        """The line on which the comment begins that ends on a line, if nothing else is there."""
        ending = self._lines[line - 1].strip()
        if ending.startswith("\\*"):
            return line
        if not ending.endswith("*)"):
            return None
        begins = (at for at in range(line, 0, -1) if "(*" in self._lines[at - 1])
        begin = next(begins, None)
        return begin if begin is not None and self._lines[begin - 1].strip().startswith("(*") else None
