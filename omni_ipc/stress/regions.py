"""How long each region takes, measured in each process, and put together from the files that those leave."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections import Counter, defaultdict
from pathlib import Path

import msgspec

from omni_ipc.histograms import Histogram, bin_of

_SUFFIX = ".regions.json"
_WRITTEN_EVERY_NS = 1_000_000_000  # who is killed takes no more than a second of it along


class Measured(msgspec.Struct, frozen=True):
    """What one process has measured: region -> how long it took."""

    process: str
    regions: dict[str, Histogram]


class Regions:
    """Measures the regions of one process; any thread may add, also from within a destructor.

    Args:
        folder: for the file of this process, which is written about once a second; a full disk costs a measurement.
        process: "engine", or "worker".
    """

    def __init__(self, folder: Path, process: str) -> None:
        self._process = process
        self._pid = os.getpid()
        self._path = folder / f"{self._pid}-{time.monotonic_ns()}{_SUFFIX}"
        self._lock = threading.RLock()  # a destructor may come in between, in the same thread
        self._counts: defaultdict[str, dict[int, int]] = defaultdict(dict)  # region -> bin -> how many
        self._total_ns: Counter[str] = Counter()
        self._due_ns = time.monotonic_ns() + _WRITTEN_EVERY_NS

    def add(self, action: str, taken_ns: int) -> None:
        """Take note of one passage."""
        place = bin_of(taken_ns // 1000)
        with self._lock:
            self._total_ns[action] += taken_ns
            counts = self._counts[action]
            counts[place] = counts.get(place, 0) + 1
            now_ns = time.monotonic_ns()
            if now_ns < self._due_ns:
                return
            self._due_ns = now_ns + _WRITTEN_EVERY_NS
        self.write()

    def write(self) -> None:
        """Bring the file up to date; a process that was forked off has none."""
        if os.getpid() != self._pid:
            return
        with self._lock:
            regions = {
                action: Histogram(dict(counts), self._total_ns[action] / 1e9)
                for action, counts in [*self._counts.items()]
            }
        beside = self._path.with_suffix(f".{threading.get_ident()}")
        with contextlib.suppress(OSError):
            beside.write_bytes(msgspec.json.encode(Measured(self._process, regions)))
            beside.replace(self._path)


def regions_of(folder: Path) -> dict[str, Histogram]:
    """Put together what processes have measured: kind of process and region ("engine Pump.Deliver") -> how long."""
    found: dict[str, Histogram] = {}
    for path in sorted(folder.glob(f"*{_SUFFIX}")):
        measured = msgspec.json.decode(path.read_bytes(), type=Measured)
        for action, histogram in measured.regions.items():
            name = f"{measured.process} {action}"
            found[name] = found.get(name, Histogram()) + histogram
    return found
