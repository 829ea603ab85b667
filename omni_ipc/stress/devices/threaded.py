"""Streams as tasks of the worker: they copy between real buffers of the device and of the host, each in its turn."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from omni_ipc import trees
from omni_ipc.device.api import Device, DeviceEvent, HostMemory, open_device
from omni_ipc.errors import UsageError
from omni_ipc.seam.api import Future, Runtime
from omni_ipc.stress.devices.commands import Commands, at_once
from omni_ipc.stress.devices.memory import OutputMemory

_NONSENSE = 0xA5  # each byte of a host buffer that nothing was copied to yet


class ThreadedEvent:
    """A point in the commands of a stream."""

    def __init__(self, reached: Future[None]) -> None:
        self._reached = reached

    def query(self) -> bool:
        return self._reached.done()

    def synchronize(self) -> None:
        self._reached.result()


class ThreadedStreams:
    """One stream that computes, and one for the way to the host.

    Args:
        kind: of the device whose memory it is: "cpu", "cuda:1", "xpu".
    """

    held_back_by = "tasks"

    def __init__(self, rt: Runtime, kind: str = "cpu") -> None:
        self._rt = rt
        self._device = open_device(kind)
        self.name = self._device.name
        self._default = Commands(rt, "device.default")
        self._side = Commands(rt, "device.side")
        self.memory = OutputMemory(self.name, self._compute)

    def prepare(self, fn: Callable[[], torch.Tensor], count: int) -> None:
        """Do nothing: no device waits for anything here."""

    def adopt(self) -> None:
        self._device.adopt()

    def record(self) -> ThreadedEvent:
        with self._rt.region("Device.Record"):
            return ThreadedEvent(self._default.issue("reach", at_once))

    def to_host(self, tree: Any, *, after: DeviceEvent) -> Any:
        """Copy the tensors on the side stream, and wait for the copies.

        Raises:
            UsageError: ``after`` is no event of this device.

        Spec: DeviceCopy
        """
        if not isinstance(after, ThreadedEvent):
            raise UsageError(f"after= is a {type(after).__name__}. Give what {self.name}'s record() returned.")
        with self._rt.region("Device.Copy"):
            self._side.issue("wait", at_once, ready=after.synchronize)
            try:
                return trees.mapped(self._issue_copy, tree)
            finally:
                self._side.issue("reach", at_once).result()

    def land_in(self, memory: HostMemory) -> None:
        """Do nothing: the sender copies."""

    def pin(self, buffer: memoryview) -> None:
        return

    def close(self) -> None:
        self._default.close()
        self._side.close()
        self._device.close()

    def synchronize(self) -> None:
        for stream in (self._default, self._side):
            stream.issue("reach", at_once).result()

    def require_usable(self) -> None:
        self._device.require_usable()

    def _compute(self, does: str, run: Callable[[], object]) -> Future[None]:
        return self._default.issue(does, lambda: self._whole(run))

    def _issue_copy(self, value: Any) -> Any:
        if not isinstance(value, torch.Tensor) or str(value.device) != self.name:
            return value
        source = value.detach()
        buffer = torch.full((source.nbytes,), _NONSENSE, dtype=torch.uint8)
        host = buffer.view(source.dtype).reshape(source.shape)
        self._side.issue("copy", lambda: self._whole(lambda: host.copy_(source)))
        return host

    def _whole(self, run: Callable[[], object]) -> None:
        """Do something with the device's memory, to its end."""
        run()
        self._device.synchronize()


if TYPE_CHECKING:

    def _keeps_the_contract(device: ThreadedStreams) -> Device:
        return device
