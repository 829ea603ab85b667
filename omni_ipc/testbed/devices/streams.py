"""Streams and events of a simulated device, with the semantics of CUDA's."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from omni_ipc.records import Field
from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.objects.base import Controlled
from omni_ipc.testbed.operations import Operation, Reading, always


class Command(NamedTuple):
    """What was issued to a stream.

    Args:
        does: in traces: "copy block1 to block2".
        run: does it, within one step of the stream.
        ready: tells whether the stream may come to it.
    """

    does: str
    run: Callable[[], object]
    ready: Callable[[], bool] = always


class Stream(Controlled):
    """A queue of commands, and the task that works through them in order; the run may end without it."""

    kind = "stream"

    def __init__(self, kernel: Kernel, name: str) -> None:
        super().__init__(kernel)
        self._name = name
        self._issued: deque[Command] = deque()
        task = kernel.launch(name, self._work, ())
        task.daemon, task.is_thread = True, False

    @property
    def name(self) -> str:
        return self._name

    def issue(self, does: str, run: Callable[[], object], ready: Callable[[], bool] = always) -> None:
        """Add a command; no point, because nobody sees it before the stream comes to it."""
        self.kernel.writes |= self.bit
        self._issued.append(Command(does, run, ready))

    def record(self) -> SimulatedEvent:
        """Issue an event: it is reached when all that was issued before is done."""
        event = SimulatedEvent(self.kernel)
        self.issue(f"reach {event.name}", event.reach)
        return event

    def wait_for(self, event: SimulatedEvent) -> None:
        """Let what is issued from now on start only behind an event, which may be one of another stream."""
        self.issue(f"wait for {event.name}", event.pass_by, event.is_reached)

    def _work(self) -> None:
        while True:
            self.kernel.perform(_Next(self))

    def is_ready(self) -> bool:
        """Tell whether there is a command that may be worked on."""
        return bool(self._issued) and self._issued[0].ready()

    def step(self) -> None:
        """Do the next command."""
        self._issued.popleft().run()

    def next(self) -> str:
        """Put the next command into words."""
        return self._issued[0].does if self._issued else "nothing"

    def issued(self) -> list[str]:
        """Put all commands into words that it has still to do, the next one first."""
        return [command.does for command in self._issued]

    def blocked_on(self) -> str:
        return f"{self._name} to come to: {self.next()}"


class SimulatedEvent(Controlled):
    """A point in the commands of a stream."""

    kind = "event"

    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel)
        self._reached = False

    def query(self) -> bool:
        """Tell whether its stream has reached it."""
        return bool(self.kernel.perform(Reading("event.query", self, self.is_reached)))

    def synchronize(self) -> None:
        """Wait until its stream has reached it."""
        self.kernel.perform(Reading("event.synchronize", self, self.is_reached, self.is_reached))

    def hold_back(self, stream: Stream) -> None:
        """Let what is issued to ``stream`` from now on start only behind this point."""
        stream.wait_for(self)

    def is_reached(self) -> bool:
        return self._reached

    def reach(self) -> None:
        """Be reached, within a step of the stream."""
        self.kernel.writes |= self.bit
        self._reached = True

    def pass_by(self) -> None:
        """Let a stream go on that has waited for it, within a step of that stream."""
        self.kernel.reads |= self.bit

    def shown(self) -> str:
        return "reached" if self._reached else "not reached"

    def blocked_on(self) -> str:
        return f"{self.name} to be reached"


class _Next(Operation):
    """The next command of a stream: the region that a real stream, held back by a conductor, opens for it."""

    __slots__ = ("_stream",)

    def __init__(self, stream: Stream) -> None:
        super().__init__("Stream.Step", stream, stream.step, stream.is_ready)
        self._stream = stream

    def fields(self) -> dict[str, Field]:
        does, _, what = self._stream.next().partition(" ")
        return {"does": does, "what": what}
