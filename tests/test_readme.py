"""The README: every command in it is run, and what it shows is what comes out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.documents import check_commands, commands, matches

pytestmark = pytest.mark.alone  # its commands use all cores

README = Path(__file__).parents[1] / "README.md"
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", README.read_text(), re.DOTALL)


@pytest.mark.torch
@pytest.mark.timeout(400)  # the demo alone takes half a minute, and several where others use the machine, too
def test_readme_shows_what_its_commands_print(tmp_path: Path) -> None:
    """Each command's output matches the block below it; "..." stands for any lines, times may differ."""
    folder = tmp_path / "reader"
    folder.mkdir()
    for name, source in re.findall(r"```python\n# (\S+)\n(.*?)```", README.read_text(), re.DOTALL):
        (folder / name).write_text(f"# {name}\n{source}")
    assert len(commands(README.read_text())) >= 5
    check_commands(README.read_text(), folder, width=100)


def test_the_two_commands_of_the_readme_are_targets_of_the_makefile() -> None:
    """What the README tells a newcomer to run exists."""
    makefile = (README.parent / "Makefile").read_text()
    commands = [line.split() for language, text in BLOCKS if language == "sh" for line in text.splitlines()]
    targets = [words[1] for words in commands if words[0] == "make"]
    assert targets == ["demo", "test"]
    for target in targets:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_links_of_the_readme_lead_somewhere() -> None:
    """Every relative link names a file or folder of the checkout."""
    links = re.findall(r"\]\(([^)#:]+)\)", README.read_text())
    assert links
    for link in links:
        assert (README.parent / link).exists(), link


@pytest.mark.parametrize(
    ("expected", "printed", "same"),
    [
        ("a\nb\n", "a \nb", True),
        ("a\n...\nc\n", "a\nb\nb\nc\n", True),
        ("a\n...\n", "a\n", True),
        ("in 33 s\n", "in 9 s\n", True),
        ("a\n…\n", "a\nb\n", True),
        ("a\nb\n", "a\n", False),
        ("a\n...\nc\n", "a\nb\n", False),
        ("15 of 15\n", "14 of 15\n", False),
    ],
)
def test_the_comparison_can_fail(expected: str, printed: str, same: bool) -> None:
    """Elision and times are lenient, everything else is not."""
    assert matches(expected, printed) is same
