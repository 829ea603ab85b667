"""Runs the console blocks of documents, as their readers would, and holds what comes out against what they show.

A line of dots ("..." or "…") stands for any lines; times, speeds and the device may differ.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"

_BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)
_QUOTED = re.compile(r"<!-- (\S+): (\w+) -->\n```\w+\n(.*?)```", re.DOTALL)
_VARYING = re.compile(r"\d+(\.\d+)? ?s\b|[\d,]+ schedules/s|on (cpu|cuda)\b")
_ANY = ("...", "…")
_PROGRAMS = {"omni-ipc": "-m omni_ipc", "pytest": "-m pytest -p omni_ipc.pytest_plugin", "python": ""}


def commands(document: str) -> list[tuple[str, str]]:
    """Give the commands of a document in order, each with what it is to print."""
    found: list[tuple[str, str]] = []
    for block in _BLOCK.findall(document):
        parts = re.split(r"^\$ (.*)\n", block, flags=re.MULTILINE)
        found += zip(parts[1::2], parts[2::2], strict=True)
    return found


def check_commands(document: str, folder: Path, *, width: int, quiet: bool = False) -> None:
    """Run a document's commands one after the other in a folder.

    Args:
        width: columns that commands print for.
        quiet: nothing may come out as errors.
    """
    own = {**programs(folder.parent / f"{folder.name}.bin"), "COLUMNS": str(width), "NO_COLOR": "1"}
    for command, expected in commands(document):
        done = subprocess.run(
            ["sh", "-c", command],
            cwd=folder,
            env={**os.environ, **own},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert not (quiet and done.stderr), f"$ {command}\n{done.stderr}"
        assert matches(expected, done.stdout), (
            f"$ {command}\n\nit is to say:\n{expected}\nit says:\n{done.stdout}\n{done.stderr}"
        )


def programs(folder: Path) -> dict[str, str]:
    """Put the programs of documents, as this checkout has them, into a new folder; return how a shell finds them."""
    folder.mkdir()
    for name, words in _PROGRAMS.items():
        (folder / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n')
        (folder / name).chmod(0o755)
    return {
        "PATH": f"{folder}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }


def matches(expected: str, printed: str) -> bool:
    """Compare what is shown with what was printed."""
    pattern = "".join(
        r"(?:.*\n)*?" if line in _ANY else re.escape(_neutral(line)) + r"\n" for line in expected.splitlines()
    )
    return re.fullmatch(pattern, "".join(f"{_neutral(line)}\n" for line in printed.rstrip().splitlines())) is not None


def _neutral(line: str) -> str:
    """Blank out what differs from run to run, and from machine to machine."""
    return _VARYING.sub("<varies>", line.rstrip())


def quotes(document: str) -> list[tuple[str, str, str]]:
    """Give what a document quotes: the file, the function or "docstring", and the text."""
    return _QUOTED.findall(document)


def quotable(path: Path, what: str) -> str:
    """Give the source of a function or method, or what follows the first paragraph of a module's docstring."""
    source = path.read_text()
    module = ast.parse(source)
    if what == "docstring":
        return (ast.get_docstring(module) or "").partition("\n\n")[2] + "\n"
    (found,) = (node for node in ast.walk(module) if getattr(node, "name", None) == what)
    assert isinstance(found, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    parts = [ast.get_source_segment(source, part, padded=True) or "" for part in (*found.decorator_list, found)]
    *decorators, body = map(textwrap.dedent, parts)
    return "".join(f"@{decorator.strip()}\n" for decorator in decorators) + body + "\n"
