"""Pipelines that misbehave, for worker processes to import."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from omni_ipc.serving.requests import Request


class Stuck:
    """Never comes back from its forward; with every lock, it lets no other thread of its process run either."""

    def forward(self, batch: Sequence[Request]) -> list[Any]:
        while True:
            if batch[0].prompt == "with every lock":
                ctypes.PyDLL(None).pause()
            signal.pause()


class Forking:
    """Has forked a child that does nothing, and writes down its id."""

    def __init__(self, pid_file: str) -> None:
        child = os.fork()
        if child == 0:
            signal.pause()
        with open(pid_file, "w") as file:
            file.write(str(child))


class Choosy:
    """Computes what it is asked for: a number, an error, too few outputs, or something that cannot travel."""

    def forward(self, batch: Sequence[Request]) -> list[Any]:
        requests = [request.id for request in batch]
        if "raise" in requests:
            raise RuntimeError("out of memory")
        if "exit" in requests:
            sys.exit(3)
        if "dict" in requests:
            return {request: np.zeros(1) for request in requests}  # type: ignore[return-value]
        if "object" in requests:
            return [object() for _ in requests]
        outputs = [np.full(3, len(request)) for request in requests]
        return outputs[:1] if "few" in requests else outputs


class Unbuildable:
    """Cannot be made, and says so once, or again and again."""

    def __init__(self, times: int = 1) -> None:
        raise ValueError("no weights \N{CRYING CAT FACE}" * times)


class OnlyOnRankZero(Choosy):
    """Cannot be made elsewhere."""

    def __init__(self, rank: int) -> None:
        if rank:
            raise ValueError(f"rank {rank} has no weights")
