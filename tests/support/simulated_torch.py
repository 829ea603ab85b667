"""As much of torch as its devices use, over a simulated one: so the lines of `omni_ipc.device` are explored."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import patch

import omni_ipc.stress.devices
from omni_ipc.testbed import ControlledRuntime
from omni_ipc.testbed.devices import Block, SimulatedDevice, SimulatedEvent
from omni_ipc.testbed.devices import Stream as SimulatedStream
from omni_ipc.testbed.devices.simulated import SimulatedTensor

_ROOT = Path(omni_ipc.__file__).parent
_OVER_TORCH = (
    "device.accelerator",
    "device.cuda",
    "stress.devices.gates",
    "stress.devices.memory",
    "stress.devices.held",
)


class Tensor:
    """A tensor of one value, on the device or in memory of the host."""

    dtype = "torch.int64"
    shape = (1,)
    nbytes = 8
    layout = "strided"
    is_nested = is_quantized = False

    def __init__(self, torch: SimulatedTorch, memory: Block | SimulatedTensor) -> None:
        self._torch = torch
        self._memory = memory
        self.device = f"{torch.kind}:0" if isinstance(memory, SimulatedTensor) else "cpu"

    @property
    def block(self) -> Block:
        return self._memory.block if isinstance(self._memory, SimulatedTensor) else self._memory

    def detach(self) -> Tensor:
        return self

    def resolve_conj(self) -> Tensor:
        return self

    def resolve_neg(self) -> Tensor:
        return self

    def copy_(self, source: Tensor, *, non_blocking: bool) -> Tensor:
        assert non_blocking
        self._torch.world.copy(source.block, self.block)
        return self

    def read(self) -> Any:
        """Return what the host sees now."""
        return self.block.load()


class Stream:
    """``torch.Stream``."""

    def __init__(self, stream: SimulatedStream) -> None:
        self.simulated = stream

    def wait_event(self, event: Event) -> None:
        if event.reached is not None:  # one that was never recorded holds nothing back
            self.simulated.wait_for(event.reached)


class Event:
    """``torch.xpu.Event``."""

    def __init__(self) -> None:
        self.reached: SimulatedEvent | None = None

    def record(self, stream: Stream) -> None:
        self.reached = stream.simulated.record()

    def query(self) -> bool:
        return self.reached is None or self.reached.query()

    def synchronize(self) -> None:
        if self.reached is not None:
            self.reached.synchronize()


class BlockingEvent(Event):
    """``torch.cuda.Event``."""

    def __init__(self, *, blocking: bool) -> None:
        assert blocking, "a thread that waits for it would spin"
        super().__init__()


class SimulatedTorch(ModuleType):
    """The module, whose device belongs to one run after the other."""

    def __init__(self, kind: str = "cuda") -> None:
        super().__init__("torch")
        self.kind = kind
        self.world: SimulatedDevice
        self.Tensor = Tensor
        self.__version__ = "simulated"
        self.strided = Tensor.layout
        self.device = str
        self.adopted: list[str] = []  # by threads, each as its own
        self.cuda = self._module(BlockingEvent)
        self.xpu = self._module(Event)

    def _module(self, event: type[Event]) -> SimpleNamespace:
        return SimpleNamespace(
            Stream=lambda _: Stream(self.world.stream("side of torch")),
            Event=event,
            is_available=lambda: True,
            device_count=lambda: 1,
            current_stream=lambda _: Stream(self.world.current()),
            stream=self._on,
            synchronize=lambda _: self.world.synchronize(),
            device=lambda _: nullcontext(),
            set_device=self.adopted.append,
            empty_cache=lambda: None,
        )

    def begin(self, rt: ControlledRuntime) -> SimulatedDevice:
        """Let a run have a device of its own."""
        self.world = SimulatedDevice(rt, "gpu")
        return self.world

    def compute(self, fn: Callable[[], Any]) -> Tensor:
        """Issue a computation to the current stream."""
        return Tensor(self, self.world.compute(fn))

    def empty(self, shape: Any, *, dtype: Any, pin_memory: bool) -> Tensor:
        assert pin_memory, "a copy to memory that is not pinned is none that the host can overlap"
        return Tensor(self, Block(self.world.kernel))

    def _on(self, stream: Stream) -> AbstractContextManager[None]:
        return self.world.on(stream.simulated)


@contextmanager
def devices_over(torch: SimulatedTorch, *, without: str = "") -> Iterator[None]:
    """Import the devices of torch anew, over the simulated torch, for `open_device` and others to find.

    Args:
        without: one of their lines, to be left out.
    """
    sources = {f"omni_ipc.{name}": _ROOT / f"{name.replace('.', '/')}.py" for name in _OVER_TORCH}
    assert any(without in path.read_text() for path in sources.values()), f"there is no line '{without}' any more"
    modules = {name: ModuleType(name) for name in sources}
    with patch.dict(sys.modules, {"torch": torch, **modules}):
        for name, path in sources.items():
            source = path.read_text()
            code = source.replace(without, "pass") if without else source
            exec(compile(code, str(path), "exec"), vars(modules[name]))
        yield
