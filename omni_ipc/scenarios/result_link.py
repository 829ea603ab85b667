"""The way of a worker's results, with records so small that an output takes several, and a pause between any two."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from omni_ipc.scenarios.ways import LaneWay, Way
from omni_ipc.seam.api import Runtime
from omni_ipc.serving.links import Receiver, Sender
from omni_ipc.serving.messages import Reply
from omni_ipc.transport.bell import create_doorbell
from omni_ipc.transport.channel import LaneSender, PortReceiver
from omni_ipc.transport.lane import Lane, lane_bytes
from omni_ipc.transport.layout import DOORBELL_BYTES
from omni_ipc.transport.port import Port
from omni_ipc.transport.reader import LaneReader
from omni_ipc.transport.writer import LaneWriter

if TYPE_CHECKING:
    from omni_ipc.serving.worker import Worker
    from omni_ipc.serving.workers import HostedWorkers

RING_BYTES = 1024  # a quarter holds one of an output's three records
PAUSE_S = 0.05
"""As long as the pump's poll: what comes next and the receive's timeout fall due together, in either order."""

_SEND_TIMEOUT_S = 1.0


class Ends(NamedTuple):
    """Of the way."""

    replies: Sender[Reply]
    outputs: Sender[Reply]
    results: Receiver[Reply]


class ResultLink:
    """A lane for each of the worker's threads, over plain memory of this process, and the port that reads both.

    Attributes:
        worker: what sends this way from a process of its own, if not every worker does.
    """

    worker: type[Worker] | None = None

    def open(self, rt: Runtime) -> Ends:
        """Lay the way, and give its ends."""
        doorbell = create_doorbell(rt=rt, buffer=memoryview(bytearray(DOORBELL_BYTES)))
        lanes = [
            Lane.create(rt=rt, buffer=memoryview(bytearray(lane_bytes(RING_BYTES))), name=name)
            for name in ("worker.main", "worker.output")
        ]
        replies, outputs = (
            LaneSender[Reply](kind(lane, doorbell=doorbell), timeout=_SEND_TIMEOUT_S)
            for kind, lane in zip((LaneWriter, _PausingWriter), lanes, strict=True)
        )
        port = Port(rt=rt, lanes=[LaneReader(lane) for lane in lanes], doorbell=doorbell)
        return Ends(replies, outputs, PortReceiver(port, Reply))

    def attach(self, rt: Runtime, link: HostedWorkers) -> None:
        """Have a worker process's results come this way; those of the product do."""

    def lay(self, rt: Runtime) -> Way:
        """Lay a way for one writer that never pauses, and a reader that comes late."""
        return LaneWay(rt)


class _PausingWriter(LaneWriter):
    """The machine takes its time between two records of a message."""

    _paused = False

    def _publish(self, *args: Any, **kwargs: Any) -> None:
        super()._publish(*args, **kwargs)
        if not self._paused:
            self._paused = True
            self._rt.sleep(PAUSE_S)
