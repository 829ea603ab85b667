"""A simulated device of which it is known what its blocks, events and commands are there for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from omni_ipc.testbed import ControlledRuntime
from omni_ipc.testbed.devices import Block, SimulatedDevice, SimulatedEvent, SimulatedTensor, Stream


class ObservedDevice(SimulatedDevice):
    """Keeps in mind what was made for which output.

    Args:
        executing: names the output that is being computed.

    Attributes:
        memory: output -> its place on the device.
        host: output -> its place on the host; in the order of the copies.
    """

    def __init__(self, rt: ControlledRuntime, executing: Callable[[], str]) -> None:
        super().__init__(rt)
        self.memory: dict[str, Block] = {}
        self.host: dict[str, Block] = {}
        self._executing = executing
        self._outputs: dict[str, str] = {}  # name of a block or an event -> its output
        self._events: list[SimulatedEvent] = []

    def compute(self, fn: Callable[..., Any], *inputs: SimulatedTensor) -> SimulatedTensor:
        tensor = super().compute(fn, *inputs)
        output = self._outputs[tensor.block.name] = self._executing()
        self.memory[output] = tensor.block
        return tensor

    def copy(self, source: Block, target: Block) -> None:
        super().copy(source, target)
        self.host[self._outputs[source.name]] = target

    def record(self) -> SimulatedEvent:
        event = super().record()
        self._outputs[event.name] = self._executing()
        self._events.append(event)
        return event

    def reached(self) -> set[str]:
        """Name the outputs an event of which was reached."""
        return {self._outputs[event.name] for event in self._events if event.is_reached()}

    def on_default(self) -> Iterator[Mapping[str, str]]:
        """Tell what the default stream has still to do."""
        return self._commands(self.default, "")

    def on_side(self) -> Iterator[Mapping[str, str]]:
        """Tell what the side stream has still to do; it is always about the output that is copied last."""
        return self._commands(self._side, next(reversed(self.host), ""))

    def _commands(self, stream: Stream, output: str) -> Iterator[Mapping[str, str]]:
        for does in stream.issued():
            words = does.split()
            yield {"does": words[0], "output": next((self._outputs[w] for w in words if w in self._outputs), output)}
