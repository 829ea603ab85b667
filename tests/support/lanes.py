"""Lanes and ports to test with: in plain memory, or in segments shared with a child process."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from omni_ipc.seam.api import Runtime
from omni_ipc.seam.native import NativeRuntime
from omni_ipc.transport.bell import create_doorbell
from omni_ipc.transport.lane import Lane, lane_bytes
from omni_ipc.transport.layout import DOORBELL_BYTES
from omni_ipc.transport.memory import Segment
from omni_ipc.transport.port import Port
from omni_ipc.transport.reader import LaneReader
from omni_ipc.transport.writer import LaneWriter

RT = NativeRuntime()
ROOT = Path(__file__).parents[2]


def plain_lane(
    ring_bytes: int = 1024, *, rt: Runtime = RT, name: str = "out", max_message_bytes: int = 1 << 30
) -> Lane:
    """Lay a lane into plain memory of this process."""
    buffer = memoryview(bytearray(lane_bytes(ring_bytes)))
    return Lane.create(rt=rt, buffer=buffer, name=name, max_message_bytes=max_message_bytes)


def plain_port(*names: str, ring_bytes: int = 1024) -> tuple[Port, list[LaneWriter]]:
    """Make a port in plain memory, and the writers of its lanes."""
    doorbell = create_doorbell(rt=RT, buffer=memoryview(bytearray(DOORBELL_BYTES)))
    lanes = [plain_lane(ring_bytes, name=name) for name in names]
    port = Port(rt=RT, lanes=[LaneReader(lane) for lane in lanes], doorbell=doorbell)
    return port, [LaneWriter(lane, doorbell=doorbell) for lane in lanes]


class Shared:
    """A lane to a child process, one from it, and this side's ends of them."""

    def __init__(self, there: Lane, back: Lane, writer: LaneWriter, port: Port, fds: list[int]) -> None:
        self.there = there
        self.back = back
        self.writer = writer
        self.port = port
        self.fds = fds

    @contextmanager
    def child(self, role: str) -> Iterator[subprocess.Popen[bytes]]:
        """Run a role of `tests.support.peer` in a process of its own, and end it."""
        command = [sys.executable, "-m", "tests.support.peer", role, *map(str, self.fds)]
        with subprocess.Popen(command, pass_fds=self.fds, cwd=ROOT) as child:
            try:
                yield child
            finally:
                child.kill()


@contextmanager
def shared(ring_bytes: int = 1 << 16) -> Iterator[Shared]:
    """Lay a lane each way, with their doorbells, into segments."""
    with ExitStack() as stack:
        sizes = (lane_bytes(ring_bytes), DOORBELL_BYTES) * 2
        there, there_bell, back, back_bell = (stack.enter_context(Segment.create(n, name="test")) for n in sizes)
        fds = [segment.fd for segment in (there, there_bell, back, back_bell)]
        lanes = [
            Lane.create(rt=RT, buffer=segment.view, name=name) for segment, name in ((there, "there"), (back, "back"))
        ]
        bells = [create_doorbell(rt=RT, buffer=segment.view) for segment in (there_bell, back_bell)]
        port = Port(rt=RT, lanes=[LaneReader(lanes[1])], doorbell=bells[1])
        yield Shared(lanes[0], lanes[1], LaneWriter(lanes[0], doorbell=bells[0]), port, fds)
