"""What processes hold: slots, descriptors, segments, threads, memory; and what of it is more than it was."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from omni_ipc.accounts import Sample
from omni_ipc.serving.engine import Engine
from omni_ipc.stress import gauge
from omni_ipc.stress.ledger import Ledger

PATIENCE_S = 20.0
"""What ends by itself may take so long, on a busy machine."""

_LOOK_EVERY_S = 0.02
_LIBRARIES = ("/dev/", "/usr/", "/proc/")  # what drivers and libraries open once, and keep
_HOSTED = b"omni_ipc.serving.hosted"
_OURS = "/memfd:omni_ipc."


class Held(NamedTuple):
    """What a process holds; bytes.

    Args:
        own: of its memory, what it does not share.
        files: what its descriptors lead to, but for what libraries open once, and keep.
        shared: inode -> bytes of each segment that it has a descriptor of.
        device: of its device's memory, what it keeps; None if it shows nothing of the kind.
    """

    resident: int
    own: int
    files: tuple[str, ...]
    shared: dict[int, int]
    device: int | None


def held(pid: int) -> Held | None:
    """Look at a process; None if it is gone."""
    try:
        resident, shared = Path(f"/proc/{pid}/statm").read_text().split()[1:3]
        files = [*_files(pid)]
    except (OSError, ValueError):
        return None
    page = os.sysconf("SC_PAGE_SIZE")
    return Held(
        int(resident) * page,
        (int(resident) - int(shared)) * page,
        tuple(sorted(target for target, _ in files if not target.startswith((*_LIBRARIES, gauge.TARGET)))),
        {file.st_ino: file.st_blocks * 512 for target, file in files if target.startswith(_OURS)},
        next((file.st_size for target, file in files if target.startswith(gauge.TARGET)), None),
    )


def sample(at_s: float, processes: Mapping[str, int], ledger: Ledger) -> Sample:
    """Look at processes, by name, and at what is counted."""
    looks = {name: found for name, pid in processes.items() if (found := held(pid)) is not None}
    shared = {inode: nbytes for found in looks.values() for inode, nbytes in found.shared.items()}
    return Sample(
        at_s=at_s,
        ended=sum(ledger.outcomes().values()),
        open=ledger.get("open"),
        resident={name: found.resident for name, found in looks.items()},
        descriptors={name: len(found.files) for name, found in looks.items()},
        slots=ledger.get("slots"),
        shared=sum(shared.values()),
        taken=sum(shared.values()) + sum(found.own for found in looks.values()),
        device={name: found.device for name, found in looks.items() if found.device is not None},
    )


def is_worker(pid: int) -> bool:
    """Tell whether a process is a worker's, and lives; an id may be another process's by now."""
    try:
        return _HOSTED in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def held_slots(engine: Engine) -> int:
    """Count the slots of the first worker's slab whose outputs somebody still looks at."""
    reader = engine.outlet.reader
    count = 0
    for slot in range(reader.geometry.slots):
        lent = reader.words.load(reader.geometry.generation_word(slot))
        count += lent not in (0, reader.words.load(reader.geometry.release_word(slot, 0)))
    return count


def await_none(of: Callable[[], str], *, patience_s: float = PATIENCE_S) -> str:
    """Wait until nothing is left; gives what is, once patience has ended.

    Args:
        of: tells what is left now, or "".
    """
    deadline_s = time.monotonic() + patience_s
    while (left := of()) and time.monotonic() < deadline_s:
        gc.collect()
        time.sleep(_LOOK_EVERY_S)
    return left


def trim() -> None:
    """Give memory back to the machine that this process does not use."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)


def segments() -> int:
    """Count the segments that this process has mapped."""
    return sum(_OURS in line for line in Path("/proc/self/maps").read_text().splitlines())


def _files(pid: int) -> Iterator[tuple[str, os.stat_result]]:
    folder = f"/proc/{pid}/fd"
    for name in os.listdir(folder):
        with contextlib.suppress(OSError):  # closed meanwhile
            yield os.readlink(f"{folder}/{name}"), os.stat(f"{folder}/{name}")
