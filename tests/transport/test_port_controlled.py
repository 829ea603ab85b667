"""A port under the testbed, access by access: who closes it, adds lanes to it and shares it while it is read."""

from __future__ import annotations

import math
from collections.abc import Callable
from unittest.mock import Mock

import pytest

from omni_ipc.errors import PeerClosed, UsageError
from omni_ipc.records import Verdict
from omni_ipc.seam.api import Runtime
from omni_ipc.testbed import explore
from omni_ipc.transport import bell, port
from omni_ipc.transport.bell import create_doorbell
from omni_ipc.transport.layout import DOORBELL_BYTES
from omni_ipc.transport.liveness import Looks
from omni_ipc.transport.port import Port
from omni_ipc.transport.reader import LaneReader
from omni_ipc.transport.writer import LaneWriter
from tests.support.lanes import plain_lane

LONG_S = 20.0


@pytest.fixture(autouse=True)
def _sleepers_depend_on_being_woken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take away the bound of a sleep, which would hide a lost wake-up."""
    monkeypatch.setattr(bell, "LONGEST_SLEEP_S", math.inf)


class World:
    """A port, and the ends of its lanes."""

    def __init__(self, rt: Runtime, *names: str, ring_bytes: int = 256) -> None:
        self.rt = rt
        self._ring_bytes = ring_bytes
        self._doorbell = create_doorbell(rt=rt, buffer=memoryview(bytearray(DOORBELL_BYTES)))
        self.writers: dict[str, LaneWriter] = {}
        self.port = Port(rt=rt, lanes=[self.lane(name) for name in names], doorbell=self._doorbell)
        self.port.growing = not names

    def lane(self, name: str) -> LaneReader:
        """Lay a lane, and attach its writer."""
        lane = plain_lane(self._ring_bytes, rt=self.rt, name=name)
        self.writers[name] = LaneWriter(lane, doorbell=self._doorbell)
        return LaneReader(lane)

    def receive(self, timeout: float = LONG_S) -> str:
        """Receive a message at once or when it comes, and name it."""
        began = self.rt.now()
        name, message = self.port.receive(timeout)
        assert self.rt.now() == began, "somebody slept until its time was over"
        return f"{name}{message.body.decode()[:1]}"


def explored(scenario: Callable[[Runtime], object]) -> set[str]:
    """Run it in every order of its accesses; none fails."""
    report = explore(scenario, instrument=["omni_ipc.transport.port"])
    assert report.failure is None, report.failure
    assert report.verdict is Verdict.HOLDS, report.reason
    return set(report.outcomes)


def test_a_lane_with_a_message_wakes_whoever_waits_for_it_to_be_added() -> None:
    """Its writer rang before, and rings no more."""

    def scenario(rt: Runtime) -> str:
        world = World(rt)
        lane = world.lane("a")
        world.writers["a"].send(b"1", timeout=0)
        rt.spawn(world.port.add, lane, name="server")
        return world.receive()

    assert explored(scenario) == {"'a1'"}


def test_whoever_waits_at_a_port_that_is_closed_is_told_at_once() -> None:
    """In whichever moment of the receive it is closed."""

    def scenario(rt: Runtime) -> str:
        world, ends = World(rt, "a"), list[str]()

        def receive() -> None:
            try:
                world.receive()
            except PeerClosed as error:
                ends.append(str(error))

        reader = rt.spawn(receive, name="reader")
        world.port.close()
        reader.join()
        assert rt.now() == 0, "somebody slept until its time was over"
        return "".join(ends)

    assert explored(scenario) == {"'The port was closed.'"}


def test_a_writer_that_waits_for_room_is_told_when_the_port_is_closed() -> None:
    """Nobody will ever make room."""

    def scenario(rt: Runtime) -> None:
        world = World(rt, "a")

        def write() -> None:
            with pytest.raises(PeerClosed):
                world.writers["a"].send(bytes(300), timeout=LONG_S)

        writer = rt.spawn(write, name="writer")
        world.port.close()
        writer.join()
        assert rt.now() == 0, "somebody slept until its time was over"

    explored(scenario)


def test_of_two_that_receive_at_once_one_is_refused_and_the_other_goes_on() -> None:
    """Each would take half of what comes."""

    def scenario(rt: Runtime) -> list[str]:
        world, ends = World(rt, "a"), list[str]()

        def receive() -> None:
            try:
                ends.append(world.receive())
            except UsageError:
                ends.append("refused")
                world.writers["a"].send(b"1", timeout=0)

        tasks = [rt.spawn(receive, name=name) for name in ("one", "other")]
        for task in tasks:
            task.join()
        return ends

    report = explore(scenario, declared=True)
    assert (report.verdict, report.outcomes) == (Verdict.HOLDS, ("['refused', 'a1']",)), report.reason


def test_a_port_that_only_looks_takes_what_is_there() -> None:
    """Also behind a lane that was added with nothing in it, and behind one with the first half of a message."""

    def scenario(rt: Runtime) -> list[str]:
        world = World(rt)
        lanes = [world.lane(name) for name in "abc"]
        world.writers["c"].send(b"1", timeout=0)

        def serve() -> None:
            for lane in lanes:
                world.port.add(lane)
            world.writers["b"].send(b"2" * 300, timeout=LONG_S)

        serving = rt.spawn(serve, name="server")
        rt.sleep(1)  # by then it waits for room
        seen = [world.receive(0), world.receive()]
        serving.join()
        return sorted(seen)

    report = explore(scenario, runs=100, declared=True)
    assert (report.failure, set(report.outcomes)) == (None, {"['b2', 'c1']"})


def test_each_lane_ends_once_and_is_named_until_then() -> None:
    """However often it had its turn; what it brought came before, in order."""

    def scenario(rt: Runtime) -> None:
        world, seen = World(rt, "a", "b"), list[str]()

        def write(name: str) -> None:
            for body in (b"1", b"2"):
                world.writers[name].send(body, timeout=0)
            world.writers[name].close(0)

        for name in "ab":
            rt.spawn(write, name, name=name)
        while lanes := world.port.lanes:
            assert len(lanes) <= 2, "a lane has two turns"
            assert len(seen) < 6, "a lane ends again and again"
            try:
                seen.append(world.receive())
            except PeerClosed:
                seen.append("end")
        assert sorted(seen) == ["a1", "a2", "b1", "b2", "end", "end"]

    report = explore(scenario, runs=300)
    assert report.failure is None, report.failure


def test_a_busy_port_looks_at_its_writers_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look asks the clock: not with each message, but not never either."""
    monkeypatch.setattr(port, "_IN_A_ROW", 2)

    def scenario(rt: Runtime) -> int:
        world, looks = World(rt, "a", "b"), Mock(spec=Looks)
        looks.due.return_value = False
        world.port._looks = looks

        def write() -> None:
            for _ in range(2):
                world.writers["a"].send(b"1", timeout=0)

        rt.spawn(write, name="writer").join()
        for _ in range(2):
            world.receive(0)
        return int(looks.due.call_count)

    assert explored(scenario) == {"1"}
