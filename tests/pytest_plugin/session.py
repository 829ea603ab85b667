"""A pytest session of its own, in a folder of its own, with no plugin but ours and those that are named."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]


class Ended(NamedTuple):
    """What a session came to."""

    code: int
    counts: dict[str, int]
    text: str


def session(folder: Path, *words: str, plugins: tuple[str, ...] = ()) -> Ended:
    """Run pytest on a folder, and wait for its end."""
    names = ("omni_ipc.pytest_plugin", *plugins)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *(word for name in names for word in ("-p", name)), *words],
        cwd=folder,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(ROOT), "COLUMNS": "120"},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    last = done.stdout.strip().splitlines()[-1] if done.stdout.strip() else ""
    counts = {word: int(count) for count, word in re.findall(r"(\d+) (passed|failed|skipped|error)", last)}
    return Ended(done.returncode, counts, done.stdout + done.stderr)
