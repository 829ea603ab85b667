"""What a worker asks of the user's model, and what more a model may offer.

A pipeline is made in the worker's process, from an import path and options. It needs `forward` alone:

    forward(batch)                   one output a request, on the device; it may still be computed on return
    step(batch)                      step execution: some of the work of each request
    sleep(level), wake()             give device memory back, and take it again
    calls, frees                     further methods that the engine may call by name
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from omni_ipc.serving.requests import Request


class Pipeline(Protocol):
    """The user's model."""

    def forward(self, batch: Sequence[Request]) -> Sequence[Any]:
        """Compute one output a request: a tree (dict, list, tuple) of tensors on the worker's device."""


@runtime_checkable
class Stepping(Protocol):
    """A model that can be asked for its work in steps."""

    def step(self, batch: Sequence[Request]) -> Sequence[Any | None]:
        """Do one step of each request; give its output if that was its last one, else None.

        A request is in the batches until its output came. One that is missing from a batch was aborted.
        """


@runtime_checkable
class Sleeping(Protocol):
    """A model that can give back its device memory.

    Neither is called while an output is on its way to the host, nor twice in a row.
    """

    def sleep(self, level: int) -> None:
        """Give device memory back: 1 keeps the weights on the host, 2 drops them."""

    def wake(self) -> None:
        """Take device memory again, and be ready for a forward."""


class Callables(Protocol):
    """A model with further methods that the engine may call by name; what they return is sent back.

    Attributes:
        calls: the names of these methods.
        frees: those of them that give device memory back. They are called when no output is on its way to the host.
    """

    calls: frozenset[str]
    frees: frozenset[str]
