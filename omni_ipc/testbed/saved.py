"""Failures that were found before, in the folder `.omni_ipc/failures` of the project: run first the next time.

A file is named after its scenario and its failure, so that the same failure, found again, takes the place of the old
one, and another one lies beside it. The folder may be put under version control: then it is the project's collection of
past races.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from omni_ipc.records import MemoryOrder, Trace
from omni_ipc.testbed.failures import shape

FOLDER = Path(".omni_ipc")
"""As seen from where the command or the tests were started."""

_ROOM = "failures"
_UNFIT = re.compile(r"[^\w.-]+")
_HASH_DIGITS = 8
_LONGEST_NAME = 80


def save(trace: Trace, folder: Path = FOLDER) -> Path:
    """Save the trace of a failure, in place of an earlier one of the same failure, and return where it lies.

    Raises:
        UsageError: it cannot be written.
    """
    kind, message = shape(trace.failure) if trace.failure is not None else ("", "")
    failure = (trace.scenario, trace.defect, trace.memory, kind, message)
    digest = hashlib.sha256(repr(failure).encode()).hexdigest()[:_HASH_DIGITS]
    return trace.save(folder / _ROOM / f"{_stem(trace.scenario)}-{digest}.trace.json")


def for_scenario(
    name: str, *, defect: str | None = None, memory: str = MemoryOrder.SC, folder: Path = FOLDER
) -> tuple[Trace, ...]:
    """Return the saved failures of a scenario, under the same defect and memory order, those of late first.

    Raises:
        UsageError: one of them cannot be read; names the file.
    """
    paths = (folder / _ROOM).glob(f"{_stem(name)}-{'?' * _HASH_DIGITS}.trace.json")
    latest = sorted(paths, key=lambda path: (-path.stat().st_mtime_ns, path.name))
    wanted = (name, defect, memory)
    return tuple(trace for trace in map(Trace.load, latest) if (trace.scenario, trace.defect, trace.memory) == wanted)


def _stem(scenario: str) -> str:
    """Make a file name of a scenario's name: "tests/races.py:twice" becomes "races.twice"."""
    file, _, function = scenario.rpartition(":")
    return _UNFIT.sub("_", ".".join(filter(None, (Path(file).stem, function))))[:_LONGEST_NAME]
