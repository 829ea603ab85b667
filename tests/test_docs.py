"""The documents: what they quote is what stands in the code, what they name exists, and their examples run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.documents import DOCS, ROOT, quotable, quotes

EXAMPLES = sorted((DOCS / "examples").glob("*.py"))
TRANSPORT = DOCS / "transport.md"
SAID = {
    "inherit.py": "copied once, into the slab: (1024, 1024), mean 7.0\nmade in the slab: (1024, 1024), mean 8.0\n",
    "meet.py": "worker one: ready, 0, 1, 2\nworker two: ready, 0, 1, 2\n",
}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_every_example_runs_and_says_what_it_should(example: Path) -> None:
    """As its reader would run it: on the product alone, in processes of its own."""
    ended = subprocess.run(
        [sys.executable, str(example)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (ended.returncode, ended.stderr, ended.stdout) == (0, "", SAID[example.name])


def test_what_is_quoted_stands_in_the_code() -> None:
    """Examples and byte pictures are the files' own, character for character."""
    quoted = quotes(TRANSPORT.read_text())
    assert len(quoted) == 6
    for path, what, text in quoted:
        assert text == quotable(ROOT / path, what), f"{path}: {what}"


def test_every_guarantee_names_a_test_that_exists() -> None:
    """The link leads to its file, and the file has the test."""
    (table,) = re.findall(r"\| guarantee \| shown by \|\n\|.*\n((?:\|.*\n)+)", TRANSPORT.read_text())
    assert len(table.splitlines()) >= 20
    for line in table.splitlines():
        path, link, name = re.fullmatch(r"\| .+ \| \[(\S+)\]\((\S+)\)::(test_\w+) \|", line).groups()  # type: ignore[union-attr]
        assert (TRANSPORT.parent / link).resolve() == ROOT / path
        assert re.search(rf"^(async )?def {name}\(", (ROOT / path).read_text(), re.MULTILINE), name


def test_every_link_leads_somewhere() -> None:
    """Relative links name files of the checkout."""
    for document in (ROOT / "docs").glob("*.md"):
        prose = re.sub(r"```.*?```", "", document.read_text(), flags=re.DOTALL)
        for link in re.findall(r"\]\(([^)#:]+)\)", prose):
            assert (document.parent / link).exists(), f"{document.name}: {link}"
