"""docs/debugging.md: its commands are run, and say what it says they do."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.support.documents import DOCS, check_commands, quotable, quotes

PAGE = DOCS / "debugging.md"
MOST_BYTES = 150_000  # of a picture


def test_every_command_says_what_the_page_says(tmp_path: Path) -> None:
    """As a reader would run them, one after the other, in the folder of the example."""
    folder = tmp_path / "reader"
    shutil.copytree(DOCS / "examples" / "debugging", folder)
    check_commands(PAGE.read_text(), folder, width=96, quiet=True)
    assert (folder / "deposits.html").is_file()


def test_what_the_page_quotes_stands_in_the_example() -> None:
    """Character for character."""
    ((path, what, text),) = quotes(PAGE.read_text())
    assert text == quotable(DOCS / path, what)


def test_the_picture_is_small_enough_to_be_kept() -> None:
    """Each clone carries it."""
    picture = DOCS / "debugging.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size <= MOST_BYTES
