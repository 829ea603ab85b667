"""A device that keeps the contract of `device.api`, and is as late as a real one may be."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from omni_ipc.device.api import Device, DeviceEvent, HostMemory
from omni_ipc.errors import UsageError
from omni_ipc.testbed.devices.memory import POISON, Block
from omni_ipc.testbed.devices.streams import SimulatedEvent, Stream
from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.runtime import ControlledRuntime
from omni_ipc.testbed.tasks import Task


class SimulatedTensor:
    """A value in memory of the device; when the host drops it, its stream poisons the memory as it comes to that."""

    def __init__(self, block: Block, home: Stream) -> None:
        self.block = block
        self._home = home

    def __del__(self) -> None:
        block, home = self.block, self._home
        if not home.kernel.over:
            home.issue(f"give {block.name} back", lambda: block.put(POISON))


class HostTensor:
    """A value in memory of the host, which a copy may still be on its way to."""

    def __init__(self, block: Block) -> None:
        self._block = block

    def read(self) -> Any:
        """Return what is there now."""
        return self._block.load()

    def __array__(self, *_: Any, **__: Any) -> Any:
        return self.read()


class SimulatedDevice:
    """One device: a stream that all tasks compute on unless they choose another one, and one for the way to the host.

    Args:
        rt: of the run that it is part of.
    """

    def __init__(self, rt: ControlledRuntime, name: str = "device") -> None:
        self.name = name
        self.kernel: Kernel = rt.kernel
        self.default = self.stream("default")
        self._side = self.stream("side")
        self._current: dict[Task, Stream] = {}

    def stream(self, name: str) -> Stream:
        """Make a stream."""
        return Stream(self.kernel, f"{self.name}.{name}")

    @contextmanager
    def on(self, stream: Stream) -> Iterator[None]:
        """Let what the calling task issues go to a stream."""
        task = self.kernel.current
        before = self._current.get(task)
        self._current[task] = stream
        try:
            yield
        finally:
            if before is None:
                del self._current[task]
            else:
                self._current[task] = before

    def current(self) -> Stream:
        """Return the stream that the calling task issues to."""
        return self._current.get(self.kernel.current, self.default)

    def compute(self, fn: Callable[..., Any], *inputs: SimulatedTensor) -> SimulatedTensor:
        """Issue a computation, and return its output, which is poison until the stream comes to it."""
        output, stream = Block(self.kernel), self.current()
        blocks = [tensor.block for tensor in inputs]
        stream.issue(f"compute {output.name}", lambda: output.put(fn(*(block.get() for block in blocks))))
        return SimulatedTensor(output, stream)

    def copy(self, source: Block, target: Block) -> None:
        """Issue a copy to the calling task's stream."""
        self.current().issue(f"copy {source.name} to {target.name}", lambda: target.put(source.get()))

    def adopt(self) -> None:
        """Do nothing: there is no other one."""

    def record(self) -> SimulatedEvent:
        return self.current().record()

    def to_host(self, tree: Any, *, after: DeviceEvent) -> Any:
        """Copy the tensors on the side stream, and wait for the copies.

        Raises:
            UsageError: ``after`` is no event of a simulated device.
        """
        if not isinstance(after, SimulatedEvent):
            raise UsageError(f"after= is a {type(after).__name__}. Give what {self.name}'s record() returned.")
        with self.on(self._side):
            self.hold_back(after)
            try:
                return self._map(tree)
            finally:
                self.await_copies()

    def hold_back(self, after: SimulatedEvent) -> None:
        """Let the side stream wait for the computation."""
        after.hold_back(self._side)

    def await_copies(self) -> None:
        """Wait until the side stream has done all that was issued to it."""
        self._side.record().synchronize()

    def land_in(self, memory: HostMemory) -> None:
        """Do nothing: the sender copies."""

    def pin(self, buffer: memoryview) -> None:
        return

    def close(self) -> None:
        return

    def synchronize(self) -> None:
        for stream in (self.default, self._side):
            stream.record().synchronize()

    def require_usable(self) -> None:
        """Do nothing: it is never lost."""

    def _map(self, tree: Any) -> Any:
        if isinstance(tree, (list, tuple)):
            return type(tree)(self._map(item) for item in tree)
        if isinstance(tree, dict):
            return {key: self._map(item) for key, item in tree.items()}
        if not isinstance(tree, SimulatedTensor):
            return tree
        host = Block(self.kernel)
        self.copy(tree.block, host)
        return HostTensor(host)


if TYPE_CHECKING:

    def _keeps_the_contract(device: SimulatedDevice) -> Device:
        return device
