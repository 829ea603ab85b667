"""Subjects that fail in the ways that a subject can; each runs in the processes of a pair."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

from omni_ipc.workflows.bench.subject import Case, Receiver
from omni_ipc.workflows.bench.subjects.pipe import Pipe


class DiesInTheMiddle(Pipe):
    """Its reader is killed while it waits."""

    def receiver(self) -> Receiver:
        return _Killed()


class Raises(Pipe):
    """Its writer meets an error."""

    def sender(self) -> Any:
        raise OSError("no room at all")


class Alters(Pipe):
    """Its messages lose their end."""

    def receiver(self) -> Receiver:
        whole = super().receiver()
        altered = Receiver()
        altered.receive = lambda: whole.receive()[:-1] + b"?"  # type: ignore[method-assign]
        return altered


class CannotBeMade:
    """Its making fails."""

    spins = False

    def __init__(self, case: Case) -> None:
        raise ValueError(f"not at {case.size_bytes} bytes")


class NeverEnds(Pipe):
    """Its writer sends nothing, and does not end."""

    def sender(self) -> Any:
        time.sleep(3600)


class _Killed(Receiver):
    def receive(self) -> Any:
        os.kill(os.getpid(), signal.SIGKILL)
