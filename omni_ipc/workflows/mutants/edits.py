"""One change of a source text, by lines and columns."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Sequence

import msgspec


class Edit(msgspec.Struct, frozen=True):
    """Replaces whole lines, and names the kind of the fault.

    Args:
        operator: the kind: "lock removed".
        first: the first line that goes, counted from 1.
        last: the last line that goes.
        lines: what stands there instead.
    """

    operator: str
    first: int
    last: int
    lines: tuple[str, ...]

    def apply(self, source: Sequence[str]) -> list[str]:
        """Return the lines of the mutant."""
        return [*source[: self.first - 1], *self.lines, *source[self.last :]]

    def diff(self, source: Sequence[str], path: str) -> str:
        """Tell the change as a unified diff with two lines around it."""
        return "\n".join(difflib.unified_diff(source, self.apply(source), path, path, lineterm="", n=2))


class Source:
    """The text of a module, and its tree."""

    def __init__(self, text: str) -> None:
        self.lines = text.splitlines()
        self.tree = ast.parse(text)

    def of(self, node: ast.AST) -> tuple[str, ...]:
        """The whole lines of a node."""
        first, last = span(node)
        return tuple(self.lines[first - 1 : last])

    def exchange(self, operator: str, node: ast.expr, text: str) -> Edit | None:
        """Replace an expression that stands in one line."""
        if node.lineno != node.end_lineno:
            return None
        line = self.lines[node.lineno - 1]
        raw = line.encode()
        changed = raw[: node.col_offset] + text.encode() + raw[node.end_col_offset :]
        return Edit(operator, node.lineno, node.lineno, (changed.decode(),))

    def replace(self, operator: str, node: ast.stmt, *lines: str) -> Edit:
        """Replace a statement by lines, which are given without its indentation."""
        first, last = span(node)
        return Edit(operator, first, last, tuple(" " * node.col_offset + line for line in lines))


def span(node: ast.AST) -> tuple[int, int]:
    """The first and the last line of a statement."""
    assert isinstance(node, ast.stmt | ast.expr)
    assert node.end_lineno is not None
    return node.lineno, node.end_lineno


def indented(lines: Sequence[str], by: int) -> tuple[str, ...]:
    """Move lines to the right, or to the left where ``by`` is negative."""
    return tuple(line[-by:] if by < 0 else " " * by + line for line in lines)
