"""The lane where stores are seen late: each access of memory is a step, and so is the arrival of each store.

The reference holds under sequential consistency, under TSO, and where a store releases what was written before it,
which is all that `rt.words` promises.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import pytest

from omni_ipc.errors import PeerClosed
from omni_ipc.records import MemoryOrder, Verdict
from omni_ipc.seam.api import Runtime
from omni_ipc.transport import bell
from omni_ipc.transport.bell import Bell
from omni_ipc.transport.layout import DOORBELL_BYTES, READER_PARKED
from omni_ipc.transport.port import Port
from omni_ipc.transport.reader import LaneReader
from omni_ipc.transport.writer import LaneWriter
from tests.support.talks import FINE, explored, new_lane, talk

PROMISED = (MemoryOrder.SC, MemoryOrder.TSO, MemoryOrder.RELEASE)
"""The orders that the lane is built for."""


@pytest.fixture(autouse=True)
def _sleepers_depend_on_being_woken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take away the bound of a sleep: a lost wake-up is a wait without end."""
    monkeypatch.setattr(bell, "LONGEST_SLEEP_S", math.inf)


@pytest.mark.parametrize("memory", PROMISED)
def test_a_message_arrives_whole_and_wakes_its_reader(memory: MemoryOrder) -> None:
    """However late stores are seen, the reader sleeps in vain in no order, and takes what was sent."""
    report = explored(talk, memory)
    assert (report.verdict, report.outcomes) == (Verdict.HOLDS, ("'0'",)), report.reason


@pytest.mark.parametrize("memory", PROMISED)
def test_messages_arrive_in_order(memory: MemoryOrder) -> None:
    """The same for two of them, the second of which may come while the reader takes the first."""
    report = explored(functools.partial(talk, messages=2), memory)
    assert (report.verdict, report.outcomes) == (Verdict.HOLDS, ("'01'",)), report.reason


@pytest.mark.parametrize("memory", PROMISED)
def test_a_writer_that_waits_for_room_is_woken_and_overwrites_nothing(memory: MemoryOrder) -> None:
    """A message goes around the end of a full ring, into the room of one that is being taken."""

    def scenario(rt: Runtime) -> str:
        lane = new_lane(rt)
        reader, writer = LaneReader(lane), LaneWriter(lane)

        def take() -> str:
            message = reader.take()
            assert message is not None
            return bytes(message.body[::39]).decode()

        bodies = [b"%d" % number * 40 for number in range(5)]
        with rt.region("Fill"):
            for body in bodies[:4]:
                writer.send(body, timeout=0)
        task = rt.spawn(lambda: writer.send(bodies[4], timeout=math.inf), name="writer")
        first = take()
        task.join()
        return first + "".join(take() for _ in range(4))

    report = explored(scenario, memory)
    assert (report.verdict, report.outcomes) == (Verdict.HOLDS, ("'0011223344'",)), report.reason


@pytest.mark.parametrize("memory", PROMISED)
def test_the_end_is_seen_behind_the_last_message(memory: MemoryOrder) -> None:
    """A reader that looks without sleeping sees nothing, the message, or message and end, in this order."""

    def scenario(rt: Runtime) -> list[str]:
        lane = new_lane(rt)
        reader, writer = LaneReader(lane), LaneWriter(lane)

        def send() -> None:
            writer.send(b"a", timeout=0)
            writer.close(0)

        rt.spawn(send, name="writer")
        try:
            return [
                "nothing" if message is None else message.body.decode() for message in (reader.take(), reader.take())
            ]
        except PeerClosed:
            return ["end"]

    report = explored(scenario, memory)
    expected = {"['nothing', 'nothing']", "['nothing', 'a']", "['a', 'nothing']", "['end']"}
    assert (report.verdict, set(report.outcomes)) == (Verdict.HOLDS, expected), report.reason


def two_writers(rt: Runtime) -> str:
    """Ring one bell from two tasks, each for a lane of its own."""
    words = rt.words(memoryview(bytearray(DOORBELL_BYTES)))
    lanes = [new_lane(rt, name) for name in "ab"]
    port = Port(rt=rt, lanes=[LaneReader(lane) for lane in lanes], doorbell=Bell(rt, words, READER_PARKED))
    writers = [LaneWriter(lane, doorbell=Bell(rt, words, READER_PARKED)) for lane in lanes]
    with rt.region("Start"):
        for writer in writers:
            rt.spawn(functools.partial(writer.send, b"", timeout=math.inf), name=writer.name)
    return "".join(sorted(port.receive(math.inf)[0] for _ in writers))


@pytest.mark.parametrize("memory", PROMISED)
@pytest.mark.parametrize("transparent", [(), pytest.param(FINE, marks=pytest.mark.soak)], ids=["regions", "accesses"])
def test_two_writers_that_ring_one_bell_wake_its_sleeper(memory: MemoryOrder, transparent: Sequence[str]) -> None:
    """Both put the flag out, and neither of the messages is slept over."""
    report = explored(two_writers, memory, transparent=transparent)
    assert (report.verdict, report.outcomes) == (Verdict.HOLDS, ("'ab'",)), report.reason
