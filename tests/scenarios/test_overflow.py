"""Large messages, in pieces: on one lane none is lost or mistaken for another, out of band every one may be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from omni_ipc.errors import Full, Inconclusive, Timeout, UsageError
from omni_ipc.records import Trace, Verdict
from omni_ipc.scenarios import Parts, find
from omni_ipc.scenarios.legacy.pickled_queue import PickledQueue
from omni_ipc.scenarios.legacy.pickling import Pickled
from omni_ipc.scenarios.legacy.pubsub import Socket
from omni_ipc.scenarios.overflow import OverflowWorld
from omni_ipc.scenarios.result_link import Ends, ResultLink
from omni_ipc.seam.api import Runtime
from omni_ipc.serving.links import Delivery, Receiver, Sender
from omni_ipc.serving.messages import Reply
from omni_ipc.testbed import ControlledRuntime, explore, replay
from omni_ipc.transport.bell import create_doorbell
from omni_ipc.transport.channel import LaneSender, PortReceiver
from omni_ipc.transport.layout import DOORBELL_BYTES
from omni_ipc.transport.port import Port
from omni_ipc.transport.reader import LaneReader
from omni_ipc.transport.writer import LaneWriter
from omni_ipc.workflows import replaying
from omni_ipc.workflows.exploring import explore_scenario
from tests.support.lanes import plain_lane

POLL_S = 0.25
PIECE_BYTES = 40


class Large(msgspec.Struct, frozen=True):
    """A message of several records."""

    number: int
    body: bytes = bytes(3 * PIECE_BYTES)


Link = Callable[[Runtime, float], tuple[Sender[Large], Receiver[Large]]]


def lane(rt: Runtime, pause_s: float) -> tuple[Sender[Large], Receiver[Large]]:
    """Make a lane whose writer pauses between any two records."""

    class Pausing(LaneWriter):
        def _publish(self, *args: Any, **kwargs: Any) -> None:
            super()._publish(*args, **kwargs)
            self._rt.sleep(pause_s)

    doorbell = create_doorbell(rt=rt, buffer=memoryview(bytearray(DOORBELL_BYTES)))
    memory = plain_lane(512, rt=rt)
    port = Port(rt=rt, lanes=[LaneReader(memory)], doorbell=doorbell)
    return LaneSender(Pausing(memory, doorbell=doorbell), timeout=10), PortReceiver(port, Large)


def out_of_band(rt: Runtime, pause_s: float) -> tuple[Sender[Large], Receiver[Large]]:
    """Make a pickled queue whose writer pauses between slot and payload, and whose socket loses nothing."""
    socket: Socket[Pickled] = Socket(rt=rt)
    socket.join()
    queue: PickledQueue[Large] = PickledQueue(rt=rt, overflow=socket, slot_bytes=PIECE_BYTES, pause_s=pause_s)
    return queue.writer(), queue


def three_large(link: Link, pause_s: float) -> Callable[[ControlledRuntime], str]:
    """Send three large messages to a reader that polls, and tell what its receives gave ("-": a timeout)."""

    def scenario(rt: ControlledRuntime) -> str:
        sender, receiver = link(rt, pause_s)
        writer = rt.spawn(lambda: [sender.send(Large(number)) for number in (1, 2, 3)], name="writer")
        seen = [_number(receiver) for _ in range(16)]
        writer.join()
        return "".join(seen).rstrip("-")

    return scenario


def _number(receiver: Receiver[Large]) -> str:
    try:
        return str(receiver.receive(POLL_S).message.number)
    except Timeout:
        return "-"


def test_out_of_band_every_message_behind_a_timeout_is_one_late_for_ever() -> None:
    """The first slot is gone when its payload comes: that is taken for the second's, and the third's for nobody's."""
    report = explore(three_large(out_of_band, 1.5 * POLL_S), declared=True)
    assert {outcome.replace("-", "") for outcome in report.outcomes} == {"'12'"}


def test_on_a_lane_no_receive_that_times_out_has_changed_anything() -> None:
    """However often it does so in the middle of a message, each one arrives, in its turn."""
    report = explore(three_large(lane, 1.5 * POLL_S), strategy="random", runs=200)
    assert report.failure is None
    assert {outcome.replace("-", "") for outcome in report.outcomes} == {"'123'"}
    assert all(outcome.count("-") >= 3 for outcome in report.outcomes)


@pytest.mark.parametrize("link", [lane, out_of_band])
def test_without_timeouts_both_ways_deliver(link: Link) -> None:
    """The defect is in the timeout, and not in the way."""
    assert set(explore(three_large(link, 0.0), declared=True, runs=2_000).outcomes) == {"'123'"}


def test_a_race_of_payload_and_timeout_is_found_replayed_and_lost_in_one_order_only() -> None:
    """When both fall due together, some orders deliver; the one that does not can be had again."""

    def scenario(rt: ControlledRuntime) -> None:
        sender, receiver = out_of_band(rt, POLL_S)
        writer = rt.spawn(sender.send, Large(1), name="writer")
        seen = _number(receiver) + _number(receiver)
        writer.join()
        assert "1" in seen

    report = explore(scenario, strategy="brute-force", declared=True)
    assert report.verdict is Verdict.VIOLATED
    assert isinstance(report.trace, Trace)
    again = replay(scenario, report.trace)
    assert (again.diverged, again.failure) == (None, report.failure)
    assert len(report.trace.steps) <= 12
    delivered = explore(three_large(out_of_band, POLL_S), declared=True).outcomes
    assert "'123'" in delivered
    assert len(delivered) > 1


def test_a_writer_without_room_is_told_and_its_half_is_dropped() -> None:
    """Back-pressure has a deadline and an error; what was published of the message is nobody's, and costs no other."""

    def scenario(rt: ControlledRuntime) -> str:
        sender, receiver = lane(rt, 0.0)
        with pytest.raises(Full, match="a record needs"):
            sender.send(Large(1, bytes(10 * PIECE_BYTES)))
        writer = rt.spawn(sender.send, Large(2), name="writer")
        number = _number(receiver)
        writer.join()
        return number

    assert set(explore(scenario, declared=True).outcomes) == {"'2'"}


# The scenario


class _Watched(Receiver[Reply]):
    """A receiver that counts the receives which time out with a message half taken."""

    def __init__(self, inner: PortReceiver[Reply]) -> None:
        self._inner = inner
        (self._lane,) = (each.lane for each in inner._port._lanes if each.name == "worker.output")
        self.halfway = 0

    def receive(self, timeout: float) -> Delivery[Reply]:
        try:
            return self._inner.receive(timeout)
        except Timeout:
            self.halfway += self._lane.counts().taken == 1
            raise

    def close(self) -> None:
        self._inner.close()


class _WatchedLink(ResultLink):
    def open(self, rt: Runtime) -> Ends:
        ends = super().open(rt)
        assert isinstance(ends.results, PortReceiver)
        return ends._replace(results=_Watched(ends.results))


def test_the_reference_times_out_in_the_middle_of_a_message_and_delivers_it() -> None:
    """The scenario reaches the moment that it is about, in some orders and not in all."""

    def scenario(rt: ControlledRuntime) -> int:
        world = OverflowWorld(rt, Parts(link=_WatchedLink))
        watched = world.link.results
        assert isinstance(watched, _Watched)
        world.run()
        return watched.halfway

    report = explore(scenario, strategy="random", runs=100, transparent=find("overflow").transparent)
    assert report.failure is None
    assert set(report.outcomes) == {"0", "1"}


def test_without_a_model_there_is_nothing_to_order_in_real_time() -> None:
    """A trace of it is replayed under control, and refused elsewhere, with the reason."""
    trace = explore_scenario("overflow", defect="timeout_consumes").trace
    assert trace is not None
    assert replaying.replay(trace, defect="timeout_consumes").verdict is Verdict.VIOLATED
    with pytest.raises(Inconclusive, match="Not one step could be followed"):  # the reference has no such parts
        replaying.replay(trace)
    with pytest.raises(UsageError, match="'overflow' has no model at its grain"):
        replaying.replay(trace, on="threads")
