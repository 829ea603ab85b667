"""The lane where stores are seen late: each access of memory is a step, and so is the arrival of each store.

The reference holds under sequential consistency, under TSO, and where a store releases what was written before it,
which is all that `rt.words` promises; without that promise it does not. Each defect of `spec/Lane.tla` that the code
can have is found from nothing.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import pytest

from omni_ipc.errors import PeerClosed
from omni_ipc.records import FailureKind, MemoryOrder, Report, Verdict
from omni_ipc.seam.api import Runtime, Words
from omni_ipc.testbed import explore, replay, shrink
from omni_ipc.transport import bell as bell_module
from omni_ipc.transport.bell import Bell
from omni_ipc.transport.lane import Lane, lane_bytes
from omni_ipc.transport.layout import (
    DOORBELL_BYTES,
    READER_PARKED,
    RECORDS_WRITTEN,
    WRITE_POSITION,
)
from omni_ipc.transport.port import Port
from omni_ipc.transport.reader import LaneReader
from omni_ipc.transport.writer import LaneWriter

FINE = ("Writer.Claim", "Writer.Publish", "Reader.Take", "Reader.Look", "Bell.Ring", "Bell.Park")
"""Regions that are taken apart, so that each access in them is a step."""

PROMISED = (MemoryOrder.SC, MemoryOrder.TSO, MemoryOrder.RELEASE)
"""The orders that the lane is built for."""


@pytest.fixture(autouse=True)
def _sleepers_depend_on_being_woken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take away the bound of a sleep: a lost wake-up is a wait without end."""
    monkeypatch.setattr(bell_module, "LONGEST_SLEEP_S", math.inf)


def explored(
    scenario: Callable[[Runtime], object], memory: MemoryOrder, *, transparent: Sequence[str] = FINE
) -> Report:
    """Explore every order of accesses; all that tasks share lies in words."""
    return explore(scenario, memory=memory, transparent=transparent, declared=True)


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


class _OddWords:
    """The words as a writer uses them that does something else than it should."""

    def __init__(self, words: Words) -> None:
        self._words = words
        self._held: list[Callable[[], None]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._words, name)

    def _release(self) -> None:
        while self._held:
            self._held.pop(0)()


class PublishBeforeBody(_OddWords):
    """Stores the position first, and then writes what lies before it."""

    def write(self, offset: int, data: bytes) -> None:
        self._held.append(functools.partial(self._words.write, offset, bytes(data)))

    def store(self, index: int, value: int) -> None:
        self._words.store(index, value)
        if index == WRITE_POSITION:
            self._release()


class PositionBeforeCount(_OddWords):
    """Publishes a record before it is counted."""

    def store(self, index: int, value: int) -> None:
        store = functools.partial(self._words.store, index, value)
        if index == RECORDS_WRITTEN:
            self._held.append(store)
        else:
            store()
            self._release()


class ReusedSequence(_OddWords):
    """Does not count what it publishes, so that the next record gets the same number."""

    def store(self, index: int, value: int) -> None:
        if index != RECORDS_WRITTEN:
            self._words.store(index, value)


class NoWriterFence(Bell):
    """Looks at the flag before all see what it rings for."""

    def ring(self) -> None:
        with self._rt.region("Bell.Ring"):
            if self._words.load(self._index):
                self._words.store(self._index, 0)
                self._words.wake(self._index)


class NoReaderFence(Bell):
    """Looks again before all see that it is about to sleep."""

    def _park(self, ready: Callable[[], bool]) -> bool:
        with self._rt.region("Bell.Park"):
            self._words.store(self._index, 1)
            return ready()


class NoSecondLook(Bell):
    """Goes to sleep on what it saw before it said so."""

    def _park(self, ready: Callable[[], bool]) -> bool:
        with self._rt.region("Bell.Park"):
            self._words.store(self._index, 1)
            self._words.fence()
            return False


class Bug(NamedTuple):
    """A way to break the lane, and the first memory order in which it shows."""

    parts: dict[str, Any]
    first: MemoryOrder
    kind: FailureKind
    message: str  # a pattern


SC, TSO, RELEASE, WEAK = MemoryOrder
EXCEPTION, LOST_WAKEUP = FailureKind.EXCEPTION, FailureKind.LOST_WAKEUP

BUGS = {
    "publish_before_body": Bug({"words": PublishBeforeBody}, SC, EXCEPTION, "no record has the code 0"),
    "position_before_count": Bug({"words": PositionBeforeCount}, SC, EXCEPTION, "1 records were taken, of 0 written"),
    "reused_sequence": Bug({"words": ReusedSequence, "messages": 2}, SC, EXCEPTION, "sequence: found 0|of 0 written"),
    "lost_wakeup": Bug({"bell": NoSecondLook}, SC, LOST_WAKEUP, "a wake of word 16"),
    "missing_writer_fence": Bug({"bell": NoWriterFence}, TSO, LOST_WAKEUP, "a wake of word 16"),
    "missing_reader_fence": Bug({"bell": NoReaderFence}, TSO, LOST_WAKEUP, "a wake of word 16"),
    "missing_release_fence": Bug({}, WEAK, EXCEPTION, "no record has the code 0|1 records were taken, of 0 written"),
}


@pytest.mark.parametrize("name", BUGS)
@pytest.mark.parametrize("memory", MemoryOrder)
def test_a_bug_is_found_in_each_order_that_shows_it_and_in_no_other(name: str, memory: MemoryOrder) -> None:
    """What is found fails as it must, replays step by step, and cannot be made shorter."""
    bug, orders = BUGS[name], list(MemoryOrder)
    scenario = functools.partial(talk, **bug.parts)
    report = explored(scenario, memory)
    if orders.index(memory) < orders.index(bug.first):
        assert report.verdict is Verdict.HOLDS, report.reason
        return
    assert report.verdict is Verdict.VIOLATED, report.reason
    assert report.failure is not None
    assert report.trace is not None
    assert report.failure.kind is bug.kind
    assert re.search(bug.message, report.failure.message)
    again = replay(scenario, report.trace, transparent=FINE)
    assert (again.diverged, again.failure) == (None, report.failure)
    assert len(shrink(scenario, report.trace, transparent=FINE).steps) == len(report.trace.steps)


@pytest.mark.parametrize("name", ["missing_writer_fence", "missing_reader_fence"])
def test_a_missing_fence_shows_at_the_grain_of_regions(name: str) -> None:
    """The end of a region is no fence, so nobody has to take regions apart to find it."""
    report = explored(functools.partial(talk, **BUGS[name].parts), MemoryOrder.TSO, transparent=())
    assert report.failure is not None
    assert report.failure.kind is FailureKind.LOST_WAKEUP
