"""Texts of others, made fit for a terminal: not endless, and without characters that command it."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

MOST_CHARACTERS = 2_000
MOST_LINES = 40
_COMMANDS = {"Cc", "Cf"}  # controls, and formats: the latter turn the direction of writing, or hide


def cut(text: str, most: int = MOST_CHARACTERS) -> str:
    """Leave out what follows the first ``most`` characters or the first 40 lines, and say how much that is."""
    kept = "\n".join(text[:most].split("\n")[:MOST_LINES])
    left_out = len(text) - len(kept)
    return f"{kept} … ({left_out:,} more characters, left out here; --json tells all)" if left_out else text


def neutral(text: str) -> str:
    """Show characters that would command a terminal, instead of sending them: "␛[31m"; line ends stay."""
    return "".join(map(_shown, text)) if not text.isprintable() else text


class Neutral:
    """Something to print, whose texts send nothing but themselves to the terminal."""

    def __init__(self, content: RenderableType) -> None:
        self._content = content

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        for text, style, control in console.render(self._content, options):
            yield Segment(text if control else neutral(text), style, control)


def _shown(character: str) -> str:
    if character == "\n" or unicodedata.category(character) not in _COMMANDS:
        return character
    return chr(0x2400 + ord(character)) if ord(character) < 0x20 else "\N{REPLACEMENT CHARACTER}"
