"""The documents: what they quote is what stands in the code, what they name exists, and their examples run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.documents import DOCS, ROOT, check_commands, quotable, quotes

EXAMPLES = sorted((DOCS / "examples").glob("*.py"))
TUTORIALS = {"testbed.md": 12, "transport.md": 6, "how-to/own-spec.md": 4}  # and how much they quote
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


@pytest.mark.parametrize(("document", "many"), TUTORIALS.items())
def test_what_is_quoted_stands_in_the_code(document: str, many: int) -> None:
    """Examples and byte pictures are the files' own, character for character."""
    quoted = quotes((DOCS / document).read_text())
    assert len(quoted) == many
    for path, what, text in quoted:
        assert text == quotable(ROOT / path, what), f"{path}: {what}"


@pytest.mark.parametrize(
    ("document", "example", "left"),
    [
        ("testbed.md", "testbed", "lost.html"),
        ("writing-scenarios.md", "mistakes", "report.json"),
        ("how-to/own-spec.md", "own_spec", "traces/hasty.conform.trace.json"),
    ],
)
def test_commands_of_pages_with_an_example_say_what_they_should(
    document: str, example: str, left: str, tmp_path: Path
) -> None:
    """As a reader would run them, one after the other, in the folder of the example."""
    folder = tmp_path / "reader"
    shutil.copytree(DOCS / "examples" / example, folder, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    check_commands((DOCS / document).read_text(), folder, width=96)
    assert (folder / left).is_file()


@pytest.mark.parametrize("document", ["semantics.md", "transport.md"])
def test_every_guarantee_names_a_test_that_exists(document: str) -> None:
    """The link leads to its file, and the file has the test."""
    page = DOCS / document
    (table,) = re.findall(r"\| guarantee \| shown by \|\n\|.*\n((?:\|.*\n)+)", page.read_text())
    assert len(table.splitlines()) >= 20
    for line in table.splitlines():
        path, link, name = re.fullmatch(r"\| .+ \| \[(\S+)\]\((\S+)\)::(test_\w+) \|", line).groups()  # type: ignore[union-attr]
        assert (page.parent / link).resolve() == ROOT / path
        assert re.search(rf"^(async )?def {name}\(", (ROOT / path).read_text(), re.MULTILINE), name


def test_every_link_leads_somewhere() -> None:
    """Relative links name files of the checkout."""
    for document in (ROOT / "docs").glob("*.md"):
        prose = re.sub(r"```.*?```", "", document.read_text(), flags=re.DOTALL)
        for link in re.findall(r"\]\(([^)#:]+)\)", prose):
            assert (document.parent / link).exists(), f"{document.name}: {link}"
