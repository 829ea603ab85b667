"""A device of torch's: copies run on a stream of their own, ordered by events, into pinned memory.

It speaks of streams and events through torch's module of the device's kind, which is alike for CUDA and XPU.
"""

from __future__ import annotations

import contextlib
from typing import Any

import torch

from omni_ipc import trees
from omni_ipc.device.api import DeviceEvent, HostMemory
from omni_ipc.errors import DeviceLost, EnvironmentMissing, Full, UsageError

_SMALL_BYTES = 4 << 10  # so much travels beside its message, and needs no room


def require(kind: str, index: int) -> Any:
    """See that a device is here, and give torch's module of its kind; nothing is opened.

    Raises:
        EnvironmentMissing: there is no such device here.
    """
    of_kind: Any = getattr(torch, kind)
    count = of_kind.device_count() if of_kind.is_available() else 0
    if index >= count:
        raise EnvironmentMissing(
            f"Device '{kind}:{index}' is not here: torch {torch.__version__} sees {count} {kind.upper()} devices.",
            "Use --device cpu, or run on a machine with a driver and a torch that is built for it.",
        )
    return of_kind


class AcceleratorEvent:
    """A point on a stream.

    Args:
        event: of torch's, not recorded yet.
    """

    def __init__(self, event: Any, stream: Any) -> None:
        self._event = event
        self._event.record(stream)

    def query(self) -> bool:
        return bool(self._event.query())

    def synchronize(self) -> None:
        self._event.synchronize()

    def hold_back(self, stream: Any) -> None:
        """Let what is issued to ``stream`` from now on start only behind this point."""
        stream.wait_event(self._event)


class Accelerator:
    """One device, and the side stream on which its outputs leave it."""

    def __init__(self, kind: str, index: int = 0) -> None:
        """Open the device.

        Args:
            kind: torch's name of it: "cuda", "xpu".

        Raises:
            EnvironmentMissing: there is no such device here.
        """
        self._torch = require(kind, index)
        self.name = f"{kind}:{index}"
        self._device = torch.device(self.name)
        self._memory: HostMemory | None = None
        self._side = self._torch.Stream(self._device)

    def adopt(self) -> None:
        """Be current in the calling thread: "cuda" of a model's is this one then, and no copy visits the first one.

        A visit is enough for CUDA to open a context there, half a gigabyte; each thread begins with the first device.
        """
        self._torch.set_device(self._device)

    def record(self) -> AcceleratorEvent:
        return self._mark(self._torch.current_stream(self._device))

    def to_host(self, tree: Any, *, after: DeviceEvent) -> Any:
        """Copy the tensors on the side stream, and wait for the copies.

        One that is more than its elements stays what it is: whoever sends it refuses it, and it alone.

        Until then this call's references hold both the device's tensors and the buffers, even if it fails half-way.

        Raises:
            UsageError: ``after`` is no event of such a device.
        """
        if not isinstance(after, AcceleratorEvent):
            raise UsageError(f"after= is a {type(after).__name__}. Give what {self.name}'s record() returned.")
        with self._torch.stream(self._side):
            after.hold_back(self._side)
            try:
                return trees.mapped(self._issue_copy, tree)
            finally:
                self._mark(self._side).synchronize()

    def land_in(self, memory: HostMemory) -> None:
        self._memory = memory

    def pin(self, buffer: memoryview) -> None:
        """Do nothing: copies into this memory are staged by the driver; slower, and as right."""

    def close(self) -> None:
        """Give back what torch keeps for further use: memory of the device, weights too, and pinned buffers of copies.

        A torch that cannot give buffers back keeps them for the next worker of this process.
        """
        for give_back in filter(None, (_give_back_buffers(), self._torch.empty_cache)):
            with contextlib.suppress(RuntimeError):  # a device that is lost has nothing to give back
                give_back()

    def synchronize(self) -> None:
        self._torch.synchronize(self._device)

    def require_usable(self) -> None:
        """Record an event: behind an illegal access, or an assertion on the device, every call fails as that one did.

        It is not asked for: that would fail, and spoil the capture, while another thread captures a graph.
        """
        try:
            AcceleratorEvent(self._event(), self._side)
        except Exception as error:
            raise DeviceLost(self.name, str(error).partition("\n")[0]) from error

    def _event(self) -> Any:
        """Make an event of torch's; where it can, one that a thread sleeps on, and does not spin."""
        return self._torch.Event()

    def _mark(self, stream: Any) -> AcceleratorEvent:
        return AcceleratorEvent(self._event(), stream)

    def _issue_copy(self, value: Any) -> Any:
        if not isinstance(value, torch.Tensor) or value.device != self._device or not _is_plain(value):
            return value
        source = _resolved(value.detach())
        if self._memory is not None and source.nbytes > _SMALL_BYTES:
            try:
                room = self._memory.loan(source.nbytes, timeout=0)
                room.as_torch(str(source.dtype).removeprefix("torch."), source.shape).copy_(source, non_blocking=True)
                return room
            except (Full, UsageError):
                pass  # then by the way that always goes
        host = torch.empty(source.shape, dtype=source.dtype, pin_memory=True)
        return host.copy_(source, non_blocking=True)


def _is_plain(value: Any) -> bool:
    """Tell whether a tensor is its elements, and nothing besides: not sparse, nested or quantised."""
    return value.layout is torch.strided and not value.is_nested and not value.is_quantized


def _resolved(value: Any) -> Any:
    """Conjugate or negate on the device what is only marked as such: torch would do it to the host's buffer, at once.

    The copy, which nobody waits for, lands there afterwards. What is made here is of the side stream's memory, which is
    used again behind the copy.
    """
    return value.resolve_conj().resolve_neg()


def _give_back_buffers() -> Any:
    """Find what torch calls this: for all kinds of devices in a new one, for CUDA alone before; or None."""
    of_all = getattr(getattr(torch, "accelerator", None), "empty_host_cache", None)
    return of_all or getattr(getattr(torch, "_C", None), "_host_emptyCache", None)
