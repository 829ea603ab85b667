"""Memory of a device that outputs are computed into: it holds poison until then, and again once it was given back."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable
from typing import Any, Final

import torch

POISON: Final = 0xDEAD_BEEF_DEAD_BEEF - (1 << 64)
"""What memory holds that nobody has written yet, or that was given back: int64, in no output."""

_ON_THEIR_WAY = 4  # outputs of a scenario, at most

Issue = Callable[[str, Callable[[], object]], object]
"""Adds a command to the stream that computes: what it does, in a word, and how."""


class OutputMemory:
    """The memory of all outputs of one device.

    Args:
        device: torch's name of it.
        issue: adds a command to the stream that computes.
    """

    def __init__(self, device: str, issue: Issue) -> None:
        self._device = device
        self._issue = issue
        self._numbers = itertools.count()
        self._held: weakref.WeakValueDictionary[int, torch.Tensor] = weakref.WeakValueDictionary()

    def compute(self, fn: Callable[[], torch.Tensor], count: int) -> torch.Tensor:
        """Issue a computation of so many numbers (int64).

        Once its output is dropped, the stream poisons the memory as it comes to that.
        """
        memory = torch.full((count,), POISON, dtype=torch.int64, device=self._device)
        self._held[next(self._numbers)] = memory
        self._issue("compute", lambda: memory.copy_(fn()))
        output = memory.detach()  # another tensor over the same memory, which outlives it
        weakref.finalize(output, self._give, memory).atexit = False
        return output

    def warm_up(self, fn: Callable[[], torch.Tensor], count: int, copy: Callable[[Any], Any]) -> None:
        """Do what will be issued, at once, for as many outputs as are ever on their way.

        So all memory that they need is there, on both sides: to get more, CUDA may wait for streams that are held back.
        """
        outputs = [torch.full((count,), POISON, dtype=torch.int64, device=self._device) for _ in range(_ON_THEIR_WAY)]
        copies = [copy(memory.copy_(fn())) for memory in outputs]
        for memory in outputs:
            memory.fill_(POISON)
        del copies  # not before the last one was made, so that each has a place of its own

    def give_back(self) -> None:
        """Issue that all of it be given back, whoever may still want to read it."""
        self._issue("give", lambda: [memory.fill_(POISON) for memory in list(self._held.values())])

    def _give(self, memory: torch.Tensor) -> None:
        self._issue("give", lambda: memory.fill_(POISON))
