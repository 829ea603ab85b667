"""What a worker asks of its device, and what every device keeps.

producing thread   forward() … forward()   record() ──────┐ event
output thread                                to_host(tree, after=event) ──► host tree
                                               side stream: wait for the event ─ copy ─ event of its own ─ host waits
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from omni_ipc.errors import EnvironmentMissing, UnknownName


class DeviceEvent(Protocol):
    """A point in the work issued to a device; reached when all work issued before is done."""

    def query(self) -> bool:
        """Tell whether the device has reached it."""

    def synchronize(self) -> None:
        """Wait until the device has reached it."""


class Room(Protocol):
    """A piece of host memory, which stands for the tensor that it was viewed as in the trees that are sent."""

    def as_torch(self, dtype: str, shape: Sequence[int]) -> Any:
        """View it as a torch tensor."""


class HostMemory(Protocol):
    """Host memory that outputs are sent from: a slab."""

    def loan(self, nbytes: int, *, timeout: float) -> Room:
        """Lend a piece of it.

        Raises:
            Full: there is none now.
            UsageError: there never will be.
        """


class Device(Protocol):
    """Where a worker computes; any thread may call it."""

    @property
    def name(self) -> str:
        """The device in torch's words: "cpu", "cuda:0"."""

    def adopt(self) -> None:
        """Be the calling thread's own device: where it computes unless it says otherwise."""

    def record(self) -> DeviceEvent:
        """Mark the work that the calling thread has issued so far, on its current stream."""

    def to_host(self, tree: Any, *, after: DeviceEvent) -> Any:
        """Bring a tree of tensors to host memory, once what was issued before ``after`` is done.

        Args:
            tree: nested lists, tuples and dicts; what is no tensor of this device is passed through as it is.
            after: recorded by the thread that produced the tensors; without it the copy would overtake the computation.

        Returns:
            a tree of the same shape. Its tensors are whole: the copies have ended. The device's tensors may be freed.
            Where a tensor was copied into the memory of `land_in`, the `Room` stands in its place.
        """

    def land_in(self, memory: HostMemory) -> None:
        """Let copies off the device land where they are sent from, if there is room; for `to_host` from now on."""

    def pin(self, buffer: memoryview) -> None:
        """Let the device copy into this memory by itself; until `close`."""

    def close(self) -> None:
        """Undo every `pin`, and give back what else it holds; before that memory is unmapped."""

    def synchronize(self) -> None:
        """Wait for all work issued to the device."""

    def require_usable(self) -> None:
        """See, after an error, that the device answers this process still; it waits for nothing.

        Raises:
            DeviceLost: nothing will be computed or copied here any more: let the process end.
        """


KINDS = ("cpu", "cuda", "xpu")


def parse_device(name: str) -> tuple[str, int | None]:
    """Take the name of a device apart: "cuda:1" is ("cuda", 1), and "xpu" is ("xpu", None).

    Raises:
        UnknownName: there is no such kind of device; or it is the host, of which there is one, with an index.
    """
    kind, colon, index = name.partition(":")
    if kind not in KINDS or (colon and not (index.isdecimal() and kind != "cpu")):
        raise UnknownName("device", name, (*KINDS, "cuda:0"))
    return kind, int(index) if index else None


def open_device(name: str) -> Device:
    """Open a device by its name: "cpu", "cuda" (the first one), "cuda:1", "xpu".

    Raises:
        UnknownName: there is no such kind of device.
        EnvironmentMissing: torch, or that device, is missing here.
    """
    kind, index = parse_device(name)
    if kind == "cpu":
        from omni_ipc.device.host import HostDevice

        return HostDevice()
    require_device(name)
    from omni_ipc.device.accelerator import Accelerator
    from omni_ipc.device.cuda import CudaDevice

    return CudaDevice(index or 0) if kind == "cuda" else Accelerator(kind, index or 0)


def require_device(name: str) -> None:
    """See that a device is here, without opening it.

    For a process that leaves it to others: what was opened once takes half a gigabyte there until that process ends,
    and a device that is for one process alone nobody else gets.

    Raises:
        UnknownName, EnvironmentMissing: as of `open_device`.
    """
    kind, index = parse_device(name)
    if kind == "cpu":
        return
    try:
        from omni_ipc.device.accelerator import require
    except ImportError:
        raise EnvironmentMissing(
            f"Device '{name}' needs torch, which is not installed here.", "pip install 'omni-ipc[torch]'"
        ) from None
    require(kind, index or 0)
