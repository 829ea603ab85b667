"""The README: every command in it is run, and what it shows is what comes out."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", README.read_text(), re.DOTALL)
VARYING = re.compile(r"\d+(\.\d+)? s\b|on (cpu|cuda)\b")


@pytest.mark.torch
def test_readme_shows_what_its_commands_print(tmp_path: Path) -> None:
    """Each command's output matches the block below it; "..." stands for any lines, times may differ."""
    for name, source in re.findall(r"```python\n# (\S+)\n(.*?)```", README.read_text(), re.DOTALL):
        (tmp_path / name).write_text(f"# {name}\n{source}")
    shown = [command for language, text in BLOCKS if language == "console" for command in _commands(text)]
    assert len(shown) >= 5
    for command, expected in shown:
        program, *words = shlex.split(command)
        assert program == "omni-ipc"
        done = subprocess.run(
            [sys.executable, "-m", "omni_ipc", *words],
            cwd=tmp_path,
            env={**os.environ, "COLUMNS": "100", "PYTHONPATH": str(README.parent)},
            capture_output=True,
            text=True,
            timeout=110,
            check=False,
        )
        assert _matches(expected, done.stdout), f"$ {command}\n{done.stdout}\n{done.stderr}"


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
    ("expected", "printed", "matches"),
    [
        ("a\nb\n", "a \nb", True),
        ("a\n...\nc\n", "a\nb\nb\nc\n", True),
        ("a\n...\n", "a\n", True),
        ("in 33 s\n", "in 9 s\n", True),
        ("a\nb\n", "a\n", False),
        ("a\n...\nc\n", "a\nb\n", False),
        ("15 of 15\n", "14 of 15\n", False),
    ],
)
def test_the_comparison_can_fail(expected: str, printed: str, matches: bool) -> None:
    """Elision and times are lenient, everything else is not."""
    assert _matches(expected, printed) is matches


def _commands(text: str) -> list[tuple[str, str]]:
    """Split a console block into commands and what each prints."""
    parts = re.split(r"^\$ (.*)\n", text, flags=re.MULTILINE)
    return list(zip(parts[1::2], parts[2::2], strict=True))


def _matches(expected: str, printed: str) -> bool:
    pattern = "".join(
        r"(?:.*\n)*?" if line == "..." else re.escape(_neutral(line)) + r"\n" for line in expected.splitlines()
    )
    return re.fullmatch(pattern, "".join(f"{_neutral(line)}\n" for line in printed.rstrip().splitlines())) is not None


def _neutral(line: str) -> str:
    """Blank out what differs from run to run, and from machine to machine."""
    return VARYING.sub("<varies>", line.rstrip())
