"""A CUDA device whose own streams stop before each command, until its turn has come.

worker.main, worker.output ── the product's own calls ──► hold │ command │ event   on the stream
                           '─ "Stream.Step", does=copy ─► device.side: turn ─ opens the gate ─ waits for the event

What is between two holds is CUDA's: that an event orders two streams, that a copy has ended.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from omni_ipc.device.accelerator import AcceleratorEvent
from omni_ipc.device.api import Device, DeviceEvent
from omni_ipc.device.cuda import CudaDevice
from omni_ipc.seam.api import Runtime
from omni_ipc.stress.devices.commands import Commands, at_once
from omni_ipc.stress.devices.gates import Deadline, Gate, lets_pass
from omni_ipc.stress.devices.memory import OutputMemory

if TYPE_CHECKING:
    import torch

LONGEST_HOLD_S = 30.0
"""Far beyond the patience of a conductor, which sets everybody free."""


class HeldStream:
    """One stream that stops before each command.

    Args:
        name: of the task that lets it go on.
        clock: whose time the deadline goes by: the real one's, also where that of ``rt`` stands still.
        event: makes an event of torch's.
    """

    def __init__(self, rt: Runtime, name: str, gate: Gate, clock: Runtime, event: Callable[[], Any]) -> None:
        self._gate = gate
        self._clock = clock
        self._event = event
        self._commands = Commands(rt, name)
        self._deadline = Deadline(clock, f"{name}.deadline", gate, LONGEST_HOLD_S)
        self._closed = False  # guarded by _guard
        self._guard = rt.rlock()  # hold, command and event of one step follow each other; see Commands

    @contextmanager
    def step(self, stream: Any, does: str, *, ready: Callable[[], object] = at_once) -> Iterator[None]:
        """Hold back what is issued to a stream of torch's in this block; see `Commands.issue`."""
        with self._guard:
            if self._closed:  # nobody would let it go on
                yield
                return
            number = self._gate.hold(stream)
            self._deadline.held()
            done = self._event()
            try:
                yield
            finally:
                done.record(stream)
                self._commands.issue(does, functools.partial(self._let_go, number, done), ready=ready)

    def lets_pass(self, stream: Any, other: Any) -> bool:
        """Tell whether another stream goes on while this one, of torch's, is held; before the first `step`."""
        return lets_pass(self._clock, self._gate, stream, other)

    def close(self) -> None:
        """End both tasks, once what was issued is done; nothing is held back from now on."""
        with self._guard:
            self._closed = True
        self._commands.close()
        self._deadline.close()

    def _let_go(self, number: int, done: Any) -> None:
        self._gate.open(number)
        self._deadline.passed()
        done.synchronize()


class HeldEvent(AcceleratorEvent):
    """A point on a stream; that another one waits for it is a step of that one."""

    def __init__(self, event: Any, stream: Any, device: HeldCuda) -> None:
        super().__init__(event, stream)
        self._device = device

    def hold_back(self, stream: Any) -> None:
        with self._device.step(stream, "wait", ready=self.synchronize):
            super().hold_back(stream)


class HeldCuda(CudaDevice):
    """One CUDA device, its side stream, and the stream that its worker computes on.

    Args:
        gate: makes a gate.
        clock: see `HeldStream`.
    """

    held_back_by = "the device"

    def __init__(self, rt: Runtime, index: int, gate: Callable[[], Gate], clock: Runtime) -> None:
        super().__init__(index)
        self._rt = rt
        self._default_steps = HeldStream(rt, "device.default", gate(), clock, self._event)
        self._side_steps = HeldStream(rt, "device.side", gate(), clock, self._event)
        self._computing = self._torch.current_stream(self._device)
        self.memory = OutputMemory(self.name, self._compute)

    def are_apart(self) -> bool:
        """Tell whether each of both streams goes on while the other one is held, as the device is to have them do.

        CUDA has a few queues for all streams; two that share one are in order whatever their events say.
        """
        default, side = self._computing, self._side
        return self._default_steps.lets_pass(default, side) and self._side_steps.lets_pass(side, default)

    def prepare(self, fn: Callable[[], torch.Tensor], count: int) -> None:
        """Load kernels and register memory now: CUDA may have to wait for all streams for that."""
        self.memory.warm_up(fn, count, super()._issue_copy)
        self.synchronize()

    def step(self, stream: Any, does: str, *, ready: Callable[[], object] = at_once) -> Any:
        """Hold back what is issued to one of the two streams in this block."""
        steps = self._side_steps if stream == self._side else self._default_steps
        return steps.step(stream, does, ready=ready)

    def record(self) -> AcceleratorEvent:
        with self._rt.region("Device.Record"):
            return super().record()

    def to_host(self, tree: Any, *, after: DeviceEvent) -> Any:
        """Copy as every accelerator does.

        Spec: DeviceCopy
        """
        with self._rt.region("Device.Copy"):
            return super().to_host(tree, after=after)

    def synchronize(self) -> None:
        """Wait for both streams, asleep: CUDA's own wait spins, which a conductor takes for somebody who moves."""
        for stream in (self._computing, self._side):
            AcceleratorEvent(self._event(), stream).synchronize()

    def close(self) -> None:
        self._default_steps.close()
        self._side_steps.close()
        super().close()

    def _mark(self, stream: Any) -> AcceleratorEvent:
        with self.step(stream, "reach"):
            return HeldEvent(self._event(), stream, self)

    def _issue_copy(self, value: Any) -> Any:
        if getattr(value, "device", None) != self._device:
            return super()._issue_copy(value)
        with self.step(self._side, "copy"):
            return super()._issue_copy(value)

    def _compute(self, does: str, run: Callable[[], object]) -> None:
        with self._torch.stream(self._computing), self.step(self._computing, does):
            run()


if TYPE_CHECKING:

    def _keeps_the_contract(device: HeldCuda) -> Device:
        return device
