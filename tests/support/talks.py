"""A lane under control, taken apart into single accesses of memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from omni_ipc.records import MemoryOrder, Report
from omni_ipc.seam.api import Runtime, Words
from omni_ipc.testbed import explore
from omni_ipc.transport.bell import Bell
from omni_ipc.transport.lane import Lane, lane_bytes
from omni_ipc.transport.layout import DOORBELL_BYTES, READER_PARKED
from omni_ipc.transport.port import Port
from omni_ipc.transport.reader import LaneReader
from omni_ipc.transport.writer import LaneWriter

FINE = ("Writer.Claim", "Writer.Publish", "Writer.Look", "Reader.Take", "Reader.Look", "Bell.Ring", "Bell.Park")
"""Regions that are taken apart, so that each access in them is a step."""


def explored(
    scenario: Callable[[Runtime], object], memory: MemoryOrder, *, transparent: Sequence[str] = FINE
) -> Report:
    """Explore every order of accesses; all that tasks share lies in words."""
    return explore(scenario, strategy="depth-first", memory=memory, transparent=transparent, declared=True)


def new_lane(rt: Runtime, name: str = "out") -> Lane:
    return Lane.create(rt=rt, buffer=memoryview(bytearray(lane_bytes(256))), name=name)


def talk(
    rt: Runtime,
    *,
    messages: int = 1,
    words: Callable[[Words], Words] = lambda words: words,
    bell: type[Bell] = Bell,
) -> str:
    """Send in one task, receive and sleep in another one, and return what came.

    Args:
        words: what the writer makes of the lane's words.
    """
    buffer, doorbell = memoryview(bytearray(lane_bytes(256))), rt.words(memoryview(bytearray(DOORBELL_BYTES)))
    lane = Lane.create(rt=rt, buffer=buffer, name="out")
    port = Port(rt=rt, lanes=[LaneReader(lane)], doorbell=bell(rt, doorbell, READER_PARKED))
    there = Lane(rt=rt, buffer=buffer, name="out")
    there.words = words(there.words)
    writer = LaneWriter(there, doorbell=bell(rt, doorbell, READER_PARKED))

    def send() -> None:
        for number in range(messages):
            writer.send(b"%d" % number, timeout=math.inf)

    rt.spawn(send, name="writer")
    came = "".join(port.receive(math.inf)[1].body.decode() for _ in range(messages))
    written, taken = lane.counts()
    assert taken <= written, f"{taken} records were taken, of {written} written"
    return came
