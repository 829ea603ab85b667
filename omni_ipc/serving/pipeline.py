"""What a worker asks of the user's model, and what more a model may offer.

A pipeline is made in the worker's process, by a class or function that is named by its import path. It is called with
the options that the engine was given, and with what it has a parameter for among `rt` (the runtime), `device` (torch's
name of it), `opened` (the `Device` itself), `rank` and `ranks`. It needs `forward` alone:

    forward(batch)          one output a request, on the device; it may still be computed on return
    step(batch)             step execution: some of the work of each request
    sleep(level), wake()    give device memory back, and take it again
    calls, frees            names of further methods that the engine may call
    stage_durations_s()     how long the stages of the last forward took, by name

An exception in place of an output fails that request alone; one that is raised fails the whole batch. All ranks are
asked for the same; the outputs of those above 0 are dropped, and may be None.

Wherever a pipeline is called, its device is the current one of the thread: to torch, "cuda" is that one. A thread that
it starts itself begins with the first device, as everywhere.

A CUDA graph is captured as the pipeline is made, or by torch.cuda.graph(..., capture_error_mode="thread_local"). The
mode that is torch's own, "global", forbids other threads what the output thread does meanwhile, for outputs that were
computed before: it takes pinned memory, and waits for events. Either the capture is lost then, or such an output.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

from omni_ipc.errors import UnknownName, UsageError
from omni_ipc.serving.forks import staying
from omni_ipc.serving.requests import Request


class Pipeline(Protocol):
    """The user's model."""

    def forward(self, batch: Sequence[Request]) -> Sequence[Any]:
        """Compute one output a request: a tree (dict, list, tuple, dataclass) of tensors on the worker's device.

        They are read when this has returned, by another thread: never write to them again.
        """


@runtime_checkable
class Stepping(Protocol):
    """A model that can be asked for its work in steps."""

    def step(self, batch: Sequence[Request]) -> Sequence[Any | None]:
        """Do one step of each request; give its output if that was its last one, else None.

        A request is in every batch until its output came; one that is missing from a batch was given up. Its inputs
        come with its first step alone. Keep what it needs by its id and number: another one may have the id, too.
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


@runtime_checkable
class Timed(Protocol):
    """A model that tells how long its stages took."""

    def stage_durations_s(self) -> dict[str, float]:
        """Tell it of the last forward or step."""


class Methods:
    """What a pipeline can be called for by name.

    Raises:
        UsageError: it declares what it does not have.
    """

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline
        self._name = type(pipeline).__name__
        self.calls = frozenset(getattr(pipeline, "calls", ()))
        self.frees = frozenset(getattr(pipeline, "frees", ()))
        for name in sorted(self.calls | self.frees):
            if name.startswith("_") or name in _RESERVED or not callable(getattr(pipeline, name, None)):
                raise UsageError(f"{self._name} declares '{name}', which is no further public method. Leave it out.")
        if undeclared := self.frees - self.calls:
            raise UsageError(f"{self._name} has {sorted(undeclared)} in frees, and not in calls. Add it there, too.")

    def compute(self, name: str) -> Callable[[Sequence[Request]], Any]:
        """Give `forward` or `step`.

        Raises:
            UsageError: it has none.
        """
        method: Callable[[Sequence[Request]], Any] | None = getattr(self._pipeline, name, None)
        if method is None:
            raise UsageError(f"{self._name} has no method {name}(batch). Write it, or execute in the other mode.")
        return staying(method)

    def call(self, name: str) -> Callable[..., Any]:
        """Give a declared method.

        Raises:
            UnknownName: there is none of that name.
        """
        if name not in self.calls:
            raise UnknownName("callable method", name, {*self.calls, "sleep", "wake"})
        method: Callable[..., Any] = getattr(self._pipeline, name)
        return staying(method)

    def stage_durations_s(self) -> dict[str, float]:
        """Give what the pipeline tells of its stages; none if it tells nothing."""
        told = self._pipeline.stage_durations_s() if isinstance(self._pipeline, Timed) else {}
        return {str(name): float(seconds) for name, seconds in told.items()}


_RESERVED = ("forward", "step", "sleep", "wake", "stage_durations_s")
