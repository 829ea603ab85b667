"""The host as a device: what it computes is done on return, and lies in host memory already."""

from __future__ import annotations

from typing import Any

from omni_ipc.device.api import DeviceEvent, HostMemory


class HostEvent:
    """Reached as soon as it is recorded."""

    def query(self) -> bool:
        return True

    def synchronize(self) -> None:
        return


class HostDevice:
    """Numpy arrays and CPU tensors; needs no torch."""

    name = "cpu"

    def adopt(self) -> None:
        return

    def record(self) -> DeviceEvent:
        return HostEvent()

    def to_host(self, tree: Any, *, after: DeviceEvent) -> Any:
        """Return the tree itself: nothing is copied, so its arrays are still the producer's."""
        after.synchronize()
        return tree

    def land_in(self, memory: HostMemory) -> None:
        """Do nothing: what this device computes lies in host memory already, and the sender copies it."""

    def pin(self, buffer: memoryview) -> None:
        return

    def close(self) -> None:
        return

    def synchronize(self) -> None:
        return

    def require_usable(self) -> None:
        """Do nothing: who runs here is answered."""
