"""docs/debugging.md: its commands are run, and say what it says they do."""

from __future__ import annotations

import ast
import os
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGE = DOCS / "debugging.md"
BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)
QUOTED = re.compile(r"<!-- (\S+): (\w+) -->\n```python\n(.*?)```", re.DOTALL)
MOST_BYTES = 150_000  # of a picture
ELLIPSIS = "…"  # alone on a line, stands for any lines


def commands() -> list[tuple[str, list[str]]]:
    """Give the commands of the page in order, each with the lines that it is to say."""
    found: list[tuple[str, list[str]]] = []
    for block in BLOCK.findall(PAGE.read_text()):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    return found


def check_said(command: str, said: str, expected: list[str]) -> None:
    pattern = "".join(r"(?:.*\n)*?" if line == ELLIPSIS else re.escape(line) + r"\n" for line in expected)
    lines = "".join(f"{line.rstrip()}\n" for line in said.splitlines())
    assert re.fullmatch(pattern, lines), f"{command}\n\nit is to say:\n{chr(10).join(expected)}\n\nit says:\n{lines}"


def test_every_command_says_what_the_page_says(tmp_path: Path) -> None:
    """As a reader would run them, one after the other, in the folder of the example."""
    shutil.copy(DOCS / "examples" / "debugging" / "bank.py", tmp_path)
    program = f"{shlex.quote(sys.executable)} -m omni_ipc"
    known = {"PYTHONPATH": str(ROOT), "COLUMNS": "96", "NO_COLOR": "1"}
    for command, expected in commands():
        ended = subprocess.run(
            ["sh", "-c", re.sub(r"^omni-ipc\b", program, command)],
            cwd=tmp_path,
            env={**os.environ, **known},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert ended.stderr == "", command
        check_said(command, ended.stdout, expected)
    assert (tmp_path / "deposits.html").is_file()


def test_what_the_page_quotes_stands_in_the_example() -> None:
    """Character for character."""
    ((path, what, text),) = QUOTED.findall(PAGE.read_text())
    source = (DOCS / path).read_text()
    (function,) = (node for node in ast.walk(ast.parse(source)) if getattr(node, "name", None) == what)
    assert text == textwrap.dedent(ast.get_source_segment(source, function, padded=True) or "") + "\n"


def test_the_picture_is_small_enough_to_be_kept() -> None:
    """Each clone carries it."""
    picture = DOCS / "debugging.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size <= MOST_BYTES
