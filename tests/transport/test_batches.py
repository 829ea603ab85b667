"""Many messages a call, on both ends of a lane, and a reader that spins before it sleeps."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from omni_ipc.errors import FormatError, Full, PeerClosed, Timeout, UsageError
from omni_ipc.transport.bell import Bell, create_doorbell
from omni_ipc.transport.layout import DOORBELL_BYTES, READ_POSITION, RECORD, RING_OFFSET, padded
from omni_ipc.transport.port import MOST_AT_ONCE, Port
from omni_ipc.transport.reader import LaneReader
from omni_ipc.transport.writer import LaneWriter
from tests.support.lanes import RT, plain_lane, plain_port


def spinning(spin_s: float) -> tuple[Port, list[LaneWriter]]:
    """Make a port with one lane, whose reader spins."""
    lane = plain_lane()
    doorbell = create_doorbell(rt=RT, buffer=memoryview(bytearray(DOORBELL_BYTES)))
    port = Port(rt=RT, lanes=[LaneReader(lane)], doorbell=doorbell, spin_s=spin_s)
    return port, [LaneWriter(lane, doorbell=doorbell)]


BODIES = [b"", b"a", b"12345678", bytes(40)]


def test_messages_sent_together_arrive_one_by_one_and_together() -> None:
    """Each is a message of its own, in order, whatever its padding."""
    port, (writer,) = plain_port("out")
    writer.send_many(BODIES, timeout=0)
    assert [bytes(port.receive(0)[1].body) for _ in BODIES] == BODIES
    writer.send_many(BODIES, timeout=0)
    lane, messages = port.receive_many(0)
    assert (lane, [bytes(message.body) for message in messages]) == ("out", BODIES)
    assert [message.sequence for message in messages] == [4, 5, 6, 7]


def test_messages_sent_together_become_visible_together() -> None:
    """Without room for all of them, none is sent; more than a quarter of the ring at once is refused."""
    lane = plain_lane(256)
    writer, reader = LaneWriter(lane), LaneReader(lane)
    for _ in range(3):
        writer.send(bytes(48), timeout=0)
    with pytest.raises(UsageError, match="cannot take 72 bytes at once: 64 at most"):
        writer.send_many([b"1", b"2", b"3"], timeout=0)
    writer.send_many([b"1", b"2"], timeout=0)
    with pytest.raises(Full):
        writer.send_many([b"3", b"4"], timeout=0)
    assert len(reader.take_many(99)) == 5


def test_nothing_sent_together_is_nothing() -> None:
    """An empty batch publishes no record."""
    port, (writer,) = plain_port("out")
    writer.send_many([], timeout=0)
    with pytest.raises(Timeout):
        port.receive_many(0)
    assert writer.lane.counts() == (0, 0)


def test_each_message_sent_together_is_held_against_the_limit() -> None:
    """One that its reader would not take is refused, with all of them."""
    writer = LaneWriter(plain_lane(max_message_bytes=8))
    with pytest.raises(UsageError, match="a message of 9 bytes; its reader takes 8"):
        writer.send_many([b"12345678", b"123456789"], timeout=0)
    assert writer.lane.counts() == (0, 0)


def test_many_are_taken_at_once_but_not_without_end() -> None:
    """A busy lane gives up to 256, and then the next one has its turn."""
    port, (busy, other) = plain_port("busy", "other", ring_bytes=1 << 16)
    for _ in range(3):
        busy.send_many([b"x"] * 100, timeout=0)
    other.send(b"y", timeout=0)
    assert [(lane, len(messages)) for lane, messages in (port.receive_many(0) for _ in range(3))] == [
        ("busy", MOST_AT_ONCE),
        ("other", 1),
        ("busy", 300 - MOST_AT_ONCE),
    ]


def test_what_came_before_the_end_is_given_before_the_end() -> None:
    """The close of a lane in the middle of a batch is told by the next receive."""
    port, (writer,) = plain_port("out")
    writer.send_many([b"a", b"b"], timeout=0)
    writer.close(0)
    assert len(port.receive_many(0)[1]) == 2
    assert writer.join(0) == (3, 3)
    with pytest.raises(PeerClosed, match="after 2 records"):
        port.receive_many(0)


def test_what_came_before_broken_bytes_is_given_before_the_error() -> None:
    """And what is broken is not acknowledged."""
    port, (writer,) = plain_port("out")
    writer.send_many([b"good", b"bad", b"lost"], timeout=0)
    second = RING_OFFSET + padded(RECORD.size + 4)
    writer.lane._buffer[second + 4] = 99  # its kind
    assert [bytes(message.body) for message in port.receive_many(0)[1]] == [b"good"]
    assert writer.lane.words.load(READ_POSITION) == second - RING_OFFSET
    with pytest.raises(FormatError, match="record 1, kind: no record has the code 99"):
        port.receive_many(0)


def test_a_reader_that_spins_finds_what_comes_without_sleeping(monkeypatch: pytest.MonkeyPatch) -> None:
    """It sees a message of another thread while it looks again and again."""
    port, (writer,) = spinning(60)
    begun = RT.event()
    monkeypatch.setattr(Bell, "sleep_unless", lambda *_: pytest.fail("It slept."))
    ready = LaneReader.ready
    monkeypatch.setattr(LaneReader, "ready", lambda reader: begun.set() or ready(reader))
    task = RT.spawn(lambda: begun.wait(10) and writer.send(b"here", timeout=0), name="writer")
    assert bytes(port.receive(30)[1].body) == b"here"
    task.join(10)


def test_a_reader_that_has_spun_long_enough_sleeps_until_it_is_rung(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sleep comes behind the spinning, and ends with the message."""
    port, (writer,) = spinning(0.001)
    sleep = Bell.sleep_unless

    def send_from_within(bell: Bell, ready: Callable[[], bool], timeout: float) -> None:
        writer.send(b"rung", timeout=0)
        sleep(bell, ready, timeout)

    monkeypatch.setattr(Bell, "sleep_unless", send_from_within)
    assert bytes(port.receive(30)[1].body) == b"rung"


def test_a_reader_that_spins_times_out_like_any_other() -> None:
    """Spinning for longer than the timeout ends with the timeout."""
    port, _ = spinning(60)
    with pytest.raises(Timeout, match=r"within 0\.05 s"):
        port.receive(0.05)
