"""A pytest session of its own, in a folder of its own, with no plugin but ours and those that are named."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]


class Ended(NamedTuple):
    """What a session came to."""

    code: int
    counts: dict[str, int]
    text: str


def session(folder: Path, *words: str, plugins: tuple[str, ...] = (), columns: int = 120) -> Ended:
    """Run pytest on a folder, in a terminal so wide, and wait for its end."""
    names = ("omni_ipc.pytest_plugin", *plugins)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *(word for name in names for word in ("-p", name)), *words],
        cwd=folder,
        env=_environment() | {"COLUMNS": str(columns)},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    return Ended(done.returncode, _counts(done.stdout), done.stdout + done.stderr)


def interrupted_session(folder: Path, words: list[str], after_s: float | None) -> tuple[Ended, float]:
    """Run pytest, with Ctrl-C some seconds after it has collected the tests; tell how long it took from there."""
    process = subprocess.Popen(
        [sys.executable, "-u", "-m", "pytest", "-p", "omni_ipc.pytest_plugin", *words],
        cwd=folder,
        env=_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    with process, process.stdout:
        text = ""
        while "collected" not in text and (line := process.stdout.readline()):
            text += line
        begun = time.monotonic()
        if after_s is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(after_s)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGINT)
        text += process.stdout.read()
        code = process.wait()
    return Ended(code, _counts(text), text), time.monotonic() - begun


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(ROOT), "COLUMNS": "120"}


def _counts(text: str) -> dict[str, int]:
    """Read pytest's last word; Python may have one behind it, of a Ctrl-C that came while pytest cleared up."""
    last = next((line for line in reversed(text.splitlines()) if re.search(r" in [\d.]+s\b", line)), "")
    return {word: int(count) for count, word in re.findall(r"(\d+) (passed|failed|skipped|error)", last)}
