"""What a kernel is: a small concurrent program, once with a known fault and once without.

The programs are ordinary Python. This module and theirs import nothing of ours, so that whatever explores schedules can
load them as they are.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable
from typing import Any

EXCEPTION, DEADLOCK, LOST_WAKEUP, LEAK = "exception", "deadlock", "lost wake-up", "leak"
"""The ways in which kernels fail; they are values of `omni_ipc.records.FailureKind`."""


@dataclasses.dataclass(frozen=True, slots=True)
class Kernel:
    """One entry of the table.

    Args:
        scenario: the program with the fault: a function of no argument, or of a runtime in the family "field".
        fixed: its twin without the fault.
        kind: how the faulty one fails.
        message: what the failure says, among else.
        source: the paper or benchmark that it is written after.
        instrument: modules, beside the scenario's own, whose shared state matters.
    """

    scenario: Callable[..., Any]
    fixed: Callable[..., Any]
    kind: str
    message: str
    source: str
    instrument: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What it is called in tables."""
        return self.scenario.__name__

    @property
    def family(self) -> str:
        """The collection that it belongs to."""
        return self.scenario.__module__.removeprefix("tests.kernels.").partition(".")[0]


def together(*bodies: Callable[[], object]) -> None:
    """Run bodies in a thread each, and wait for their ends."""
    threads = [threading.Thread(target=body, name=name) for name, body in zip("abcdef", bodies, strict=False)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
