"""What is read of a file that somebody names."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from omni_ipc import shards
from omni_ipc.conformance.recordings import sessions
from omni_ipc.errors import UsageError
from omni_ipc.inputs import MOST_BYTES
from omni_ipc.records import Trace


def read_recording(path: Path) -> object:
    """Read one file as a recording."""
    return sessions.load([path])


def fifo(folder: Path) -> Path:
    """A file that nobody will ever write to."""
    os.mkfifo(folder / "fifo")
    return folder / "fifo"


def endless(_: Path) -> Path:
    """A device that gives bytes for ever."""
    return Path("/dev/zero")


def giant(folder: Path) -> Path:
    """A file of a terabyte, which takes no room on the disk."""
    with open(folder / "giant", "wb") as file:
        file.truncate(1 << 40)
    return folder / "giant"


@pytest.mark.parametrize("read", [Trace.load, shards.read, read_recording], ids=["trace", "account", "recording"])
@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (fifo, "it is no regular file"),
        (endless, "it is no regular file"),
        (giant, "it has 1,048,576 MiB, and 256 are the most"),
    ],
)
def test_what_has_no_end_is_refused_at_once(
    tmp_path: Path, read: Callable[[Path], object], made: Callable[[Path], Path], reason: str
) -> None:
    """A FIFO, a device, a giant: a sentence with the file's name, and not what the machine's memory comes to."""
    path = made(tmp_path)
    with pytest.raises(UsageError, match=f"Cannot read the (trace|account|recording) '{path}': {reason}"):
        read(path)
    assert MOST_BYTES == 256 << 20


def test_a_folder_in_place_of_a_trace_is_told(tmp_path: Path) -> None:
    """As before, by the system's own word."""
    with pytest.raises(UsageError, match=r"Cannot read the trace .*: Is a directory\."):
        Trace.load(tmp_path)
