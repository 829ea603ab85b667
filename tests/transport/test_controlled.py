"""The lane under the testbed: every order of its steps, over plain memory and in virtual time.

What its tasks share lies in words, so it is declared; the scenario in which two tasks share a writer says nothing.
"""

from __future__ import annotations

import functools

import pytest

from omni_ipc.errors import FormatError, PeerClosed, Timeout
from omni_ipc.records import Verdict
from omni_ipc.scenarios.legacy.shared_lane import SecondWriter
from omni_ipc.seam.api import Runtime
from omni_ipc.testbed import explore
from omni_ipc.transport import bell
from omni_ipc.transport.bell import create_doorbell
from omni_ipc.transport.lane import Lane, lane_bytes
from omni_ipc.transport.layout import DOORBELL_BYTES
from omni_ipc.transport.port import Port
from omni_ipc.transport.reader import LaneReader
from omni_ipc.transport.writer import LaneWriter

FOR_EVER_S = 1e6


@pytest.fixture(autouse=True)
def _sleepers_depend_on_being_woken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take away the bound of a sleep, which would hide a lost wake-up."""
    monkeypatch.setattr(bell, "LONGEST_SLEEP_S", FOR_EVER_S)


class World:
    """A port, its lanes in memory of this process, and what came through it."""

    def __init__(self, rt: Runtime, *names: str, ring_bytes: int = 256) -> None:
        self.rt = rt
        self.received: list[str] = []
        self._doorbell = create_doorbell(rt=rt, buffer=memoryview(bytearray(DOORBELL_BYTES)))
        self.lanes = [
            Lane.create(rt=rt, buffer=memoryview(bytearray(lane_bytes(ring_bytes))), name=name) for name in names
        ]
        self.port = Port(rt=rt, lanes=[LaneReader(lane) for lane in self.lanes], doorbell=self._doorbell)

    def write(self, lane: Lane, *bodies: bytes, kind: type[LaneWriter] = LaneWriter) -> None:
        """Attach a writer and send messages; run as a task."""
        self.send(kind(lane, doorbell=self._doorbell), *bodies)

    def send(self, writer: LaneWriter, *bodies: bytes) -> None:
        """Send messages; run as a task."""
        for body in bodies:
            writer.send(body, timeout=10)

    def writer(self) -> LaneWriter:
        """Attach the writer of the first lane."""
        return LaneWriter(self.lanes[0], doorbell=self._doorbell)

    def receive(self, count: int) -> str:
        """Receive messages, or fewer if no more come, and name them in their order."""
        began = self.rt.now()
        try:
            for _ in range(count):
                self.received.append(bytes(self.port.receive(20)[1].body[:1]).decode())
            assert self.rt.now() == began, "somebody slept until its time was over"
        except (Timeout, FormatError) as error:
            self.received.append(type(error).__name__)
        return "".join(self.received)


def test_lanes_that_come_while_a_port_waits_are_read() -> None:
    """Whoever adds them wakes the reader, which sleeps on a port of no lane yet; each gives what it holds."""

    def scenario(rt: Runtime) -> str:
        world = World(rt)
        world.port.growing = True

        def come(name: str) -> None:
            buffer = memoryview(bytearray(lane_bytes(256)))
            lane = Lane.create(rt=rt, buffer=buffer, name=name)
            world.port.add(LaneReader(lane))
            world.write(lane, name.encode())

        for name in "ab":
            rt.spawn(come, name, name=name)
        return world.receive(2)

    report = explore(scenario, declared=True, runs=500)
    assert report.failure is None, report.failure
    assert report.outcomes == ("'ab'", "'ba'")


def test_a_lane_that_holds_a_message_wakes_the_reader_when_it_is_added() -> None:
    """Its writer rang when it wrote, and nobody read the lane then."""

    def scenario(rt: Runtime) -> str:
        world = World(rt)
        world.port.growing = True
        lane = Lane.create(rt=rt, buffer=memoryview(bytearray(lane_bytes(256))), name="a")
        world.write(lane, b"a")
        rt.spawn(world.port.add, LaneReader(lane), name="server")
        return world.receive(1)

    report = explore(scenario, declared=True)
    assert (report.verdict, report.outcomes) == (Verdict.HOLDS, ("'a'",)), report.reason


def test_two_writers_with_a_lane_each_lose_nothing_in_any_order() -> None:
    """Every interleaving delivers both messages, and no sleeper is forgotten."""

    def scenario(rt: Runtime) -> str:
        world = World(rt, "main", "output")
        for lane in world.lanes:
            rt.spawn(world.write, lane, lane.name[:1].encode(), name=f"writer of {lane.name}")
        return world.receive(2)

    report = explore(scenario, declared=True)
    assert (report.verdict, set(report.outcomes)) == (Verdict.HOLDS, {"'mo'", "'om'"})


def test_two_writers_on_one_lane_lose_a_message_in_some_order() -> None:
    """The grain is fine enough to show why a lane has one writer."""

    def scenario(rt: Runtime) -> str:
        world = World(rt, "shared")
        for name in "mo":
            rt.spawn(functools.partial(world.write, world.lanes[0], name.encode(), kind=SecondWriter), name=name)
        return world.receive(2)

    assert {"'mo'", "'om'", "'mTimeout'", "'oTimeout'"} <= set(explore(scenario, declared=True).outcomes)


def test_two_threads_with_one_writer_are_told_in_some_order() -> None:
    """Whoever shares a writer hears of it as soon as one thread is met in the middle of a send."""

    def scenario(rt: Runtime) -> str:
        world = World(rt, "shared")
        writer = world.writer()
        for name in "mo":
            rt.spawn(world.send, writer, name.encode(), name=name)
        return world.receive(2)

    report = explore(scenario, declared=True)
    assert report.verdict is Verdict.VIOLATED
    assert report.failure is not None
    assert "Two threads send on lane 'shared' at once" in report.failure.message


def test_a_writer_that_meets_a_full_ring_is_woken_in_every_order() -> None:
    """The reader's wake-up is never lost: the ring holds four messages, and a fifth waits for the first to go."""

    def scenario(rt: Runtime) -> str:
        world = World(rt, "out")
        bodies = [b"%d" % number + bytes(47) for number in range(5)]
        writer = world.writer()
        world.send(writer, *bodies[:4])
        rt.spawn(world.send, writer, bodies[4], name="writer")
        return world.receive(5)

    report = explore(scenario, declared=True)
    assert (report.verdict, report.outcomes) == (Verdict.HOLDS, ("'01234'",))


def test_the_end_comes_behind_every_message_in_every_order() -> None:
    """However the reader and the writer meet, the close is seen last."""

    def scenario(rt: Runtime) -> str:
        world = World(rt, "out")

        def write() -> None:
            writer = world.writer()
            writer.send(b"a", timeout=0)
            writer.close(0)

        rt.spawn(write, name="writer")
        try:
            return world.receive(3)
        except PeerClosed:
            return "".join(world.received) + str(world.lanes[0].counts())

    report = explore(scenario, declared=True)
    assert (report.verdict, report.outcomes) == (Verdict.HOLDS, ("'aCounts(written=2, taken=2)'",))
