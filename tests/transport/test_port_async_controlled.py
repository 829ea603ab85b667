"""A port that is awaited, under the testbed; an event loop's sleep is one of the runtime's, as no loop is watched here.

The coroutine is taken from one await to the next by its own task.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, TypeVar

import pytest

from omni_ipc.errors import Timeout, UsageError
from omni_ipc.records import Verdict
from omni_ipc.seam.api import Runtime
from omni_ipc.testbed import explore
from omni_ipc.transport import asyncio_bell, bell, port
from omni_ipc.transport.bell import Bell, create_doorbell
from omni_ipc.transport.layout import DOORBELL_BYTES, READER_PARKED
from omni_ipc.transport.port import Port
from omni_ipc.transport.reader import LaneReader
from omni_ipc.transport.writer import LaneWriter
from tests.support.lanes import plain_lane

T = TypeVar("T")
LONG_S = 20.0
TURNS = 2  # messages in a row before the loop's other tasks have theirs


class Yield:
    """Gives its loop a turn."""

    def __await__(self) -> Iterator[None]:
        yield None


@pytest.fixture(autouse=True)
def _the_loop_sleeps_in_the_runtime(monkeypatch: pytest.MonkeyPatch) -> None:
    """It sleeps on the word that an eventfd stands for, with no bound that would hide a lost wake-up."""

    async def sleep_unless(doorbell: Bell, ready: Callable[[], bool], timeout: float) -> None:
        with doorbell.parked(ready) as seen:
            await Yield()
            if not seen:
                doorbell._words.wait(READER_PARKED, 1, timeout)

    monkeypatch.setattr(bell, "LONGEST_SLEEP_S", math.inf)
    monkeypatch.setattr(asyncio_bell, "sleep_unless", sleep_unless)
    monkeypatch.setattr(asyncio_bell, "let_others_run", Yield)
    monkeypatch.setattr(port, "_IN_A_ROW", TURNS)


class World:
    """A port, the writer of its one lane, and how often the loop had a turn."""

    def __init__(self, rt: Runtime) -> None:
        self.rt, self.turns = rt, 0
        memory = memoryview(bytearray(DOORBELL_BYTES))
        doorbell, lane = create_doorbell(rt=rt, buffer=memory), plain_lane(256, rt=rt)
        self.words = rt.words(memory)
        self.port = Port(rt=rt, lanes=[LaneReader(lane)], doorbell=doorbell)
        self.writer = LaneWriter(lane, doorbell=doorbell)

    def follow(self, awaited: Coroutine[Any, Any, T]) -> T:
        """Await it to its end."""
        while True:
            try:
                awaited.send(None)
            except StopIteration as end:
                value: T = end.value
                return value
            self.turns += 1

    def receive(self, timeout: float = LONG_S) -> str:
        """Await a message, and see that nobody is parked behind that."""
        try:
            return self.follow(self.port.receive_async(timeout))[1].body.decode()
        finally:
            assert not self.words.load(READER_PARKED), "its writers would ring for nobody"


def explored(scenario: Callable[[Runtime], object]) -> set[str]:
    """Run it in every order of its accesses; none fails."""
    report = explore(scenario, instrument=["omni_ipc.transport.port"], runs=300)
    assert report.failure is None, report.failure
    assert report.verdict in (Verdict.HOLDS, Verdict.BOUNDED), report.reason
    return set(report.outcomes)


def test_messages_that_are_awaited_come_when_they_are_sent() -> None:
    """Each once and in order, in whichever moment of the await; and others have their turns."""

    def scenario(rt: Runtime) -> str:
        world = World(rt)
        rt.spawn(lambda: [world.writer.send(body, timeout=0) for body in (b"1", b"2")], name="writer")
        came = world.receive() + world.receive()
        assert rt.now() == 0, "somebody slept until its time was over"
        return came

    assert explored(scenario) == {"'12'"}


def test_a_ring_for_nothing_ends_no_await() -> None:
    """Whoever adds a lane rings, and so does whoever is late; it looks, and sleeps on until its time is over."""

    def scenario(rt: Runtime) -> float:
        world = World(rt)
        rt.spawn(world.port._doorbell.ring, name="ringing")
        with pytest.raises(Timeout):
            world.receive(1.0)
        return rt.now()

    assert explored(scenario) == {"1.0"}


def test_the_loops_other_tasks_have_their_turn_however_much_comes() -> None:
    """Messages that are there are taken without a wait, but not for ever."""

    def scenario(rt: Runtime) -> int:
        world = World(rt)
        rt.spawn(lambda: [world.writer.send(b"1", timeout=0) for _ in range(3)], name="writer").join()
        for _ in range(3):
            world.receive()
        return world.turns

    assert explored(scenario) == {"1"}


def test_of_two_that_await_at_once_one_is_refused() -> None:
    """And the other one goes on; so does whoever comes behind both."""

    def scenario(rt: Runtime) -> str:
        world = World(rt)
        first = world.port.receive_async(LONG_S)
        first.send(None)  # up to its sleep
        with pytest.raises(UsageError, match="Two tasks receive"):
            world.follow(world.port.receive_async(LONG_S))
        rt.spawn(lambda: [world.writer.send(body, timeout=0) for body in (b"1", b"2")], name="writer")
        return world.follow(first)[1].body.decode() + world.receive()

    report = explore(scenario, declared=True)
    assert (report.verdict, report.outcomes) == (Verdict.HOLDS, ("'12'",)), report.reason
