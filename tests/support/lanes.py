"""Lanes and ports to test with: in plain memory, or in segments shared with a child process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from omni_ipc.seam.api import Runtime
from omni_ipc.seam.native import NativeRuntime
from omni_ipc.transport.bell import create_doorbell, open_doorbell
from omni_ipc.transport.lane import Lane, lane_bytes
from omni_ipc.transport.layout import DOORBELL_BYTES
from omni_ipc.transport.lease import SlabReader
from omni_ipc.transport.memory import Segment
from omni_ipc.transport.port import Port
from omni_ipc.transport.reader import LaneReader
from omni_ipc.transport.writer import LaneWriter

RT = NativeRuntime()
ROOT = Path(__file__).parents[2]


class LateSleeper(NativeRuntime):
    """Lets something happen at the last moment: when the reader has looked, and is about to say that it sleeps."""

    def __init__(self) -> None:
        self.at_store: list[object] = []

    def words(self, buffer: memoryview) -> object:  # type: ignore[override]
        outer, inner = self, super().words(buffer)

        class Words:
            load, fence, wait, wake = inner.load, inner.fence, inner.wait, inner.wake

            def store(self, index: int, value: int) -> None:
                if outer.at_store:
                    outer.at_store.pop()()  # type: ignore[operator]
                inner.store(index, value)

        return Words()


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


class Inbound:
    """A port whose writers are other processes; each needs the descriptors ``fds[name]``."""

    def __init__(self, port: Port, lanes: dict[str, Lane], fds: dict[str, tuple[int, ...]]) -> None:
        self.port = port
        self.lanes = lanes
        self.fds = fds


@contextmanager
def inbound(*names: str, ring_bytes: int = 4096, eventfd: bool = False) -> Iterator[Inbound]:
    """Lay a port and its lanes into segments, with an eventfd for an event loop if need be."""
    with ExitStack() as stack:
        bells = [os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)] if eventfd else []
        for fd in bells:
            stack.callback(os.close, fd)
        bell = stack.enter_context(Segment.create(DOORBELL_BYTES, name="test"))
        segments = [stack.enter_context(Segment.create(lane_bytes(ring_bytes), name="test")) for _ in names]
        lanes = {
            name: Lane.create(rt=RT, buffer=segment.view, name=name)
            for name, segment in zip(names, segments, strict=True)
        }
        doorbell = create_doorbell(rt=RT, buffer=bell.view, eventfd=bells[0] if bells else None)
        port = Port(rt=RT, lanes=[LaneReader(lane) for lane in lanes.values()], doorbell=doorbell)
        fds = {name: (segment.fd, bell.fd, *bells) for name, segment in zip(names, segments, strict=True)}
        yield Inbound(port, lanes, fds)


class Outbound:
    """A lane whose reader is another process, which needs the descriptors ``fds``."""

    def __init__(self, writer: LaneWriter, fds: tuple[int, ...]) -> None:
        self.writer = writer
        self.fds = fds


@contextmanager
def outbound(ring_bytes: int = 4096, *, name: str = "out") -> Iterator[Outbound]:
    """Lay a lane and its reader's doorbell into segments."""
    with (
        Segment.create(lane_bytes(ring_bytes), name="test") as segment,
        Segment.create(DOORBELL_BYTES, name="test") as bell,
    ):
        lane = Lane.create(rt=RT, buffer=segment.view, name=name)
        doorbell = create_doorbell(rt=RT, buffer=bell.view)
        yield Outbound(LaneWriter(lane, doorbell=doorbell), (segment.fd, bell.fd))


def attach_writer(lane_fd: int, bell_fd: int, eventfd: int | None = None) -> LaneWriter:
    """Become the writer of a lane of `inbound`, in another process."""
    lane, bell = (Segment.attach(fd, name="test") for fd in (lane_fd, bell_fd))
    doorbell = open_doorbell(rt=RT, buffer=bell.view, eventfd=eventfd)
    return LaneWriter(Lane(rt=RT, buffer=lane.view, name="out"), doorbell=doorbell)


def attach_port(lane_fd: int, bell_fd: int, slab_fd: int | None = None) -> Port:
    """Become the reader of a lane of `outbound`, in another process, and of a slab if there is one."""
    lane, bell = (Segment.attach(fd, name="test") for fd in (lane_fd, bell_fd))
    slab = None if slab_fd is None else Segment.attach(slab_fd, name="slab")
    leases = None if slab is None else SlabReader(rt=RT, buffer=slab.view, name="slab")
    reader = LaneReader(Lane(rt=RT, buffer=lane.view, name="out"), slab=leases)
    return Port(rt=RT, lanes=[reader], doorbell=open_doorbell(rt=RT, buffer=bell.view))
