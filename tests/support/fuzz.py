"""Feeds forged memory to a reader, in a process of its own: ``python -m tests.support.fuzz SEED CASES [FIRST]``.

Prints a JSON object, and ends with 1 on the first finding. In this process nothing may be executed, imported or opened
from the first case on, and no more memory may be had than a message may be large, many times over.
"""

from __future__ import annotations

import json
import resource
import sys
import time
import traceback
import tracemalloc
from typing import Any

import numpy as np

from tests.support.forging import Forger
from tests.support.hostile import LIMIT, Victim, recordings

MEASURED_SHARE = 40  # the first of so many cases have their memory counted, byte for byte
MOST_BYTES = 32 * LIMIT  # that such a case may have at a time: copies, objects, tracebacks
ROOM_BYTES = 64 << 20  # beyond what the process had at the start: for any case

HARMLESS = ("ctypes.", "array.", "object.", "builtins.id", "cpython.", "tracemalloc.", "sys._getframe")


class Fuzz:
    """One run."""

    def __init__(self, seed: int) -> None:
        self._recordings = recordings()
        self._forger = Forger(self._recordings, seed)
        self._victim = Victim()
        self._armed = False
        self.delivered = 0
        self.delivering = 0  # cases
        self.peak_bytes = 0

    def run(self, first: int, cases: int) -> None:
        """Run cases by their numbers.

        Raises:
            Exception: a finding; noted with the number of its case.
        """
        for recording in self._recordings:  # decoders are made, and modules imported, on first use
            assert self._victim.read(recording.lane, recording.slab), "an honest message was refused"
        sys.addaudithook(self._hear)
        measured = range(first, first + -(-cases // MEASURED_SHARE))
        tracemalloc.start()  # once: each start keeps a few kilobytes for good
        for number in range(first, first + cases):
            lane, slab = self._forger.case(number)
            if number == measured.stop:
                tracemalloc.stop()
            try:
                self._armed = True
                found = self._measure(lane, slab) if number in measured else self._victim.read(lane, slab)
            except BaseException as error:
                error.add_note(f"case {number}")
                raise
            finally:
                self._armed = False
            self.delivered += found
            self.delivering += found > 0

    def _measure(self, lane: bytearray, slab: bytearray) -> int:
        tracemalloc.reset_peak()
        before_bytes, _ = tracemalloc.get_traced_memory()
        found = self._victim.read(lane, slab)
        peak_bytes = tracemalloc.get_traced_memory()[1] - before_bytes
        self.peak_bytes = max(self.peak_bytes, peak_bytes)
        assert peak_bytes <= MOST_BYTES, f"{peak_bytes} bytes were allocated"
        return found

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self._armed and not (event.startswith(HARMLESS) or _is_expected(event, arguments)):
            self._armed = False
            raise AssertionError(f"bytes in the ring led to {event}{arguments!r:.200}")


def _is_expected(event: str, arguments: tuple[Any, ...]) -> bool:
    """Tell the liveness check of whoever the forged header names, and the vain import of a torch that is not here."""
    if event == "import":
        return bool(arguments[0] == "torch") and sys.modules.get("torch", sys) is None
    return event == "open" and str(arguments[0]).startswith("/proc/") and arguments[1] in ("rb", "r", None)


def main(seed: int, cases: int, first: int = 0) -> int:
    """Run, report, and return the exit code."""
    try:
        import torch

        repr(torch.ones(1))  # imports what it prints with
    except ImportError:
        sys.modules["torch"] = None  # type: ignore[assignment]  # an import of it looks nowhere, and fails
    repr(np.ones(1))
    fuzz = Fuzz(seed)
    pages = int(open("/proc/self/statm").read().split()[0])  # noqa: SIM115
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + ROOM_BYTES, hard))
    start, finding = time.monotonic(), None
    try:
        fuzz.run(first, cases)
    except Exception as error:
        finding = "".join(traceback.format_exception(error))
    report = {
        "seed": seed,
        "cases": cases,
        "seconds": round(time.monotonic() - start, 1),
        "delivered": fuzz.delivered,
        "delivering": fuzz.delivering,
        "peak_bytes": fuzz.peak_bytes,
        "finding": finding,
    }
    print(json.dumps(report))
    return int(finding is not None)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
