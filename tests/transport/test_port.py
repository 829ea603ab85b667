"""One reader of several lanes: in turn, asleep when there is nothing, awake when there is."""

from __future__ import annotations

import itertools
import time

import pytest

from omni_ipc.errors import FormatError, PeerClosed, Timeout
from omni_ipc.transport import bell
from omni_ipc.transport.bell import create_doorbell, open_doorbell
from omni_ipc.transport.lane import Lane
from omni_ipc.transport.layout import DOORBELL_BYTES, WRITE_POSITION
from omni_ipc.transport.port import Port
from omni_ipc.transport.reader import LaneReader
from omni_ipc.transport.writer import LaneWriter
from tests.support.lanes import RT, LateSleeper, plain_lane, plain_port


def receive(port: Port, timeout: float = 30) -> tuple[str, bytes]:
    """Receive a message's lane and body."""
    lane, message = port.receive(timeout)
    return lane, bytes(message.body)


def test_a_busy_lane_does_not_keep_another_one_waiting() -> None:
    """The port takes in turn, one message a lane."""
    port, (first, second) = plain_port("first", "second")
    for number in range(3):
        first.send(b"%d" % number, timeout=0)
    second.send(b"0", timeout=0)
    assert [receive(port, 0) for _ in range(4)] == [("first", b"0"), ("second", b"0"), ("first", b"1"), ("first", b"2")]


def test_a_receive_that_times_out_has_changed_nothing() -> None:
    """Positions, counts and doorbell are as before, and the next message arrives as if nobody had asked."""
    writer = LaneWriter(plain_lane())
    doorbell = memoryview(bytearray(DOORBELL_BYTES))
    port = Port(rt=RT, lanes=[LaneReader(writer.lane)], doorbell=create_doorbell(rt=RT, buffer=doorbell))

    def state() -> list[object]:
        return [bytes(doorbell), *map(writer.lane.words.load, range(64))]

    before = state()
    for timeout in (0, 0.02, -1):
        with pytest.raises(Timeout, match="Nothing came on out within"):
            port.receive(timeout)
    assert state() == before
    writer.send(b"body", timeout=0)
    assert receive(port, 0) == ("out", b"body")


def test_a_timeout_amid_fragments_loses_none_of_them() -> None:
    """A message that is not whole yet is no message, and is completed by what comes later."""
    port, (writer,) = plain_port("out", ring_bytes=256)
    task = RT.spawn(lambda: writer.send(b"x" * 2000, timeout=30), name="writer")
    received = None
    for _ in itertools.count():
        try:
            received = receive(port, 0)
            break
        except Timeout:
            continue
    task.join(30)
    assert received == ("out", b"x" * 2000)


def test_a_message_wakes_a_reader_that_sleeps(monkeypatch: pytest.MonkeyPatch) -> None:
    """No wake-up is lost: thousands of hand-overs both ways pass without a single sleep that ends by its bound."""
    monkeypatch.setattr(bell, "LONGEST_SLEEP_S", 60.0)
    there, (to_there,) = plain_port("there")
    back, (to_back,) = plain_port("back")

    def echo() -> None:
        for _ in range(3000):
            to_back.send(receive(there)[1], timeout=30)

    task = RT.spawn(echo, name="echo")
    for number in range(3000):
        to_there.send(b"%d" % number, timeout=30)
        assert receive(back) == ("back", b"%d" % number)
    task.join(30)
    assert not task.is_alive()


def test_what_happens_just_before_the_sleep_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reader looks again after it has said that it sleeps: for a message, and for the close of the port."""
    monkeypatch.setattr(bell, "LONGEST_SLEEP_S", 60.0)
    writer = LaneWriter(plain_lane())
    rt = LateSleeper()
    doorbell = create_doorbell(rt=rt, buffer=memoryview(bytearray(DOORBELL_BYTES)))
    port = Port(rt=RT, lanes=[LaneReader(writer.lane)], doorbell=doorbell)
    before = time.monotonic()
    rt.at_store.append(lambda: writer.send(b"late", timeout=0))
    assert receive(port, 30) == ("out", b"late")
    rt.at_store.append(port.close)
    with pytest.raises(PeerClosed):
        port.receive(30)
    assert time.monotonic() - before < 15


def test_a_closed_lane_is_told_once_and_the_others_go_on() -> None:
    """The close comes in its place, behind the lane's last message; the last close ends the port."""
    port, (first, second) = plain_port("first", "second")
    first.send(b"last", timeout=0)
    first.close(0)
    assert receive(port) == ("first", b"last")
    with pytest.raises(PeerClosed, match="Lane 'first' was closed by its writer, after 1 records"):
        port.receive(0)
    assert port.lanes == ("second",)
    second.send(b"still", timeout=0)
    assert receive(port) == ("second", b"still")
    second.close(0)
    for sentence in (
        "Lane 'second' was closed",
        "Every writer of the port has ended",
        "Every writer of the port has ended",
    ):
        with pytest.raises(PeerClosed, match=sentence):
            port.receive(0)


def test_a_broken_lane_is_told_once_and_left_out() -> None:
    """One writer's wrong bytes do not stop the other one's messages."""
    port, (broken, sound) = plain_port("broken", "sound")
    broken.lane.words.store(WRITE_POSITION, 12)
    with pytest.raises(FormatError, match="Lane 'broken', record 0, write position"):
        port.receive(0)
    sound.send(b"body", timeout=0)
    assert receive(port) == ("sound", b"body")
    assert port.lanes == ("sound",)


def test_a_close_ends_the_receive_that_sleeps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another task may close the port under a reader: it learns so at once."""
    monkeypatch.setattr(bell, "LONGEST_SLEEP_S", 60.0)
    port, _ = plain_port("out")
    outcome = RT.future()

    def receive_for_ever() -> None:
        try:
            outcome.set_result(port.receive(60))
        except PeerClosed as error:
            outcome.set_exception(error)

    task = RT.spawn(receive_for_ever, name="reader")
    port.close()
    port.close()
    with pytest.raises(PeerClosed, match=r"The port was closed\."):
        outcome.result(30)
    task.join(30)


def test_a_reader_that_waits_uses_little_of_the_processor() -> None:
    """It sleeps: half a second of waiting costs less than a fifth of that."""
    port, _ = plain_port("out", "more")
    before = time.thread_time()
    with pytest.raises(Timeout):
        port.receive(0.5)
    assert time.thread_time() - before < 0.1


def test_a_doorbell_is_checked_like_a_lane() -> None:
    """Another segment's descriptor is not taken for a doorbell."""
    buffer = memoryview(bytearray(2048 + 512))
    Lane.create(rt=RT, buffer=buffer, name="lane")
    with pytest.raises(FormatError, match="Segment 'doorbell', header, kind: found 1, expected 2"):
        open_doorbell(rt=RT, buffer=buffer)
