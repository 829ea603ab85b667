"""One writer, one reader, one ring: order, room, fragments, the end."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omni_ipc.errors import Full, PeerClosed, UsageError
from omni_ipc.scenarios.legacy.shared_lane import SecondWriter
from omni_ipc.seam.api import Condition, Lock
from omni_ipc.seam.native import NativeRuntime
from omni_ipc.transport import bell
from omni_ipc.transport.lane import Lane, lane_bytes
from omni_ipc.transport.layout import RECORD, Kind, padded
from omni_ipc.transport.reader import LaneReader
from omni_ipc.transport.tensor import Framework, Tensor
from omni_ipc.transport.writer import LaneWriter
from tests.support.lanes import RT, plain_lane


def ends(ring_bytes: int = 1024, **options: Any) -> tuple[LaneWriter, LaneReader]:
    """Make both ends of a lane."""
    lane = plain_lane(ring_bytes, **options)
    return LaneWriter(lane), LaneReader(lane)


def tensor(data: bytes) -> Tensor:
    """Describe bytes as a tensor."""
    return Tensor(Framework.NUMPY, "uint8", (len(data),), memoryview(data))


def drain(reader: LaneReader) -> list[bytes]:
    """Take all that is there."""
    bodies = []
    while (message := reader.take()) is not None:
        bodies.append(bytes(message.body))
    return bodies


def test_messages_arrive_in_order_once_and_unaltered() -> None:
    """Also the empty one, and one that was an error there."""
    writer, reader = ends()
    for body, kind in ((b"first", Kind.MESSAGE), (b"", Kind.MESSAGE), (b"third", Kind.ERROR)):
        writer.send(body, timeout=0, kind=kind)
    taken = [reader.take() for _ in range(4)]
    assert [message and (message.kind, bytes(message.body), message.sequence) for message in taken] == [
        (Kind.MESSAGE, b"first", 0),
        (Kind.MESSAGE, b"", 1),
        (Kind.ERROR, b"third", 2),
        None,
    ]


def test_tensors_arrive_with_their_message_in_one_take() -> None:
    """The message and all its tensors become visible together, the zero-element one too."""
    writer, reader = ends()
    writer.send(b"body", [tensor(b"abc"), tensor(b"")], timeout=0)
    message = reader.take()
    assert message is not None
    assert [(bytes(t.data), t.shape, t.dtype) for t in message.tensors] == [
        (b"abc", (3,), "uint8"),
        (b"", (0,), "uint8"),
    ]
    assert writer.lane.counts() == (3, 3)


def test_what_the_sender_changes_after_the_send_does_not_arrive() -> None:
    """On return the sender's memory is free for other use; on the other side the message is the receiver's own."""
    writer, reader = ends()
    body, data = bytearray(b"body"), bytearray(b"data")
    writer.send(body, [tensor(data)], timeout=0)
    body[:], data[:] = b"XXXX", b"XXXX"
    message = reader.take()
    assert message is not None
    writer.send(b"next" * 10, timeout=0)
    assert (bytes(message.body), bytes(message.tensors[0].data)) == (b"body", b"data")


@pytest.mark.parametrize("offset", range(0, 256, 8))
def test_a_record_may_wrap_around_at_every_offset(offset: int) -> None:
    """Header, body and padding are split at the end of the ring, wherever that falls."""
    writer, reader = ends(256)
    for _ in range(offset // 8):  # move by 24 bytes, which reaches every multiple of 8 in a ring of 256
        writer.send(b"12345678", timeout=0)
        assert drain(reader) == [b"12345678"]
    body = bytes(range(48))
    writer.send(body, timeout=0)
    assert drain(reader) == [body]


@given(
    ring_bytes=st.sampled_from([256, 512, 1024]),
    steps=st.lists(st.one_of(st.none(), st.lists(st.binary(max_size=700), min_size=1, max_size=3)), max_size=60),
)
def test_any_mix_of_sends_and_takes_keeps_order_and_bytes(ring_bytes: int, steps: list[list[bytes] | None]) -> None:
    """What was sent is what arrives, of any size, with any tensors; what met Full never does."""
    writer, reader = ends(ring_bytes)
    sent: list[list[bytes]] = []
    taken: list[list[bytes]] = []

    def take() -> bool:
        message = reader.take()
        if message is not None:
            taken.append([bytes(message.body), *(bytes(t.data) for t in message.tensors)])
        return message is not None

    for step in steps:
        if step is None:
            take()
            continue
        try:
            writer.send(step[0], [tensor(data) for data in step[1:]], timeout=0)
            sent.append(step)
        except Full:
            take()
    while take():
        pass
    assert taken == sent


def test_a_full_ring_is_an_error_and_nothing_is_visible() -> None:
    """The writer is told how much room there is; once there is room, the same message goes."""
    writer, reader = ends(256)
    for _ in range(4):
        writer.send(b"x" * 48, timeout=0)
    before = writer.lane.counts()
    with pytest.raises(Full, match=r"Lane 'out' has 0 of 256 bytes free, and a record needs 24: .*Wait longer"):
        writer.send(b"late", timeout=0.01)
    assert writer.lane.counts() == before
    assert reader.take() is not None
    writer.send(b"late", timeout=0)
    assert drain(reader) == [b"x" * 48] * 3 + [b"late"]


def test_a_writer_that_waits_for_room_goes_on_when_there_is_some(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reader wakes it, each time: no sleep ends by its bound, no message is lost, and no error is raised."""
    monkeypatch.setattr(bell, "LONGEST_SLEEP_S", 60.0)
    writer, reader = ends(256)
    bodies = [b"%d" % number * 9 for number in range(300)]

    def send_all() -> None:
        for body in bodies:
            writer.send(body, timeout=30)

    task = RT.spawn(send_all, name="writer")
    taken: list[bytes] = []
    while len(taken) < len(bodies):
        taken += drain(reader)
    task.join(30)
    assert taken == bodies


def test_a_message_larger_than_the_ring_travels_in_fragments() -> None:
    """Body and tensors are put together again, while small messages follow."""
    writer, reader = ends(512)
    body, data = os.urandom(5_000), os.urandom(3_001)

    def send() -> None:
        writer.send(body, [tensor(b"small"), tensor(data)], timeout=30)
        writer.send(b"after", timeout=30)

    task = RT.spawn(send, name="writer")
    while (message := reader.take()) is None:
        pass
    assert bytes(message.body) == body
    assert [bytes(t.data) for t in message.tensors] == [b"small", data]
    while (message := reader.take()) is None:
        pass
    assert bytes(message.body) == b"after"
    task.join(30)


def test_a_large_message_that_meets_full_half_way_is_never_delivered() -> None:
    """Its writer is told, its reader drops the half that came, and what follows arrives."""
    writer, reader = ends(256)
    with pytest.raises(Full):
        writer.send(b"x" * 1000, timeout=0.01)
    assert reader.take() is None
    writer.send(b"next", timeout=0)
    assert drain(reader) == [b"next"]
    assert reader.abandoned == 1


@pytest.mark.parametrize("excess", [0, 1])
def test_a_message_above_the_limit_is_refused_by_its_sender(excess: int) -> None:
    """The largest message passes on both sides; one byte more is refused before anything is written."""
    writer, reader = ends(8192, max_message_bytes=1000)
    body = bytes(1000 - len(tensor(b"t").head()) - 1 + excess)
    if excess:
        with pytest.raises(UsageError, match=r"a message of 1,001 bytes; its reader takes 1,000"):
            writer.send(body, [tensor(b"t")], timeout=0)
        assert writer.lane.counts() == (0, 0)
    else:
        writer.send(body, [tensor(b"t")], timeout=0)
        assert drain(reader) == [body]


def test_the_end_comes_after_everything_and_both_sides_have_the_same_count() -> None:
    """What was sent before the close is delivered first; then the lane is closed, each time it is asked."""
    writer, reader = ends()
    writer.send(b"last", timeout=0)
    writer.close(0)
    writer.close(0)
    assert bytes(reader.take().body) == b"last"  # type: ignore[union-attr]
    for _ in range(2):
        with pytest.raises(PeerClosed, match="Lane 'out' was closed by its writer, after 1 records"):
            reader.take()
    assert writer.lane.counts() == (2, 2)


def test_nothing_can_be_sent_after_the_close() -> None:
    """The caller is told to open another lane."""
    writer, _ = ends()
    writer.close(0)
    with pytest.raises(UsageError, match="Lane 'out' is closed"):
        writer.send(b"late", timeout=0)


def test_a_close_that_meets_a_full_ring_can_be_tried_again() -> None:
    """The lane stays open until its end is written."""
    writer, reader = ends(256)
    for _ in range(4):
        writer.send(b"x" * 48, timeout=0)
    with pytest.raises(Full):
        writer.close(0)
    assert reader.take() is not None
    writer.close(0)
    assert [len(reader.take().body) for _ in range(3)] == [48] * 3  # type: ignore[union-attr]
    with pytest.raises(PeerClosed):
        reader.take()


def test_a_second_reader_is_refused_when_it_attaches() -> None:
    """The lane knows its reader, and tells who it is; the first one, which came late, goes on."""
    lane = plain_lane()
    writer = LaneWriter(lane)
    for number in range(3):
        writer.send(b"%d" % number, timeout=0)
    reader = LaneReader(lane)
    assert bytes(reader.take().body) == b"0"  # type: ignore[union-attr]
    with pytest.raises(UsageError, match=rf"has a reader already, process {os.getpid()}, and takes no second one"):
        LaneReader(lane)
    assert drain(reader) == [b"1", b"2"]


def test_a_buffer_that_is_no_power_of_two_behind_its_header_is_refused() -> None:
    """A ring's size is right, or there is no lane."""
    for ring_bytes in (0, 128, 1000):
        with pytest.raises(UsageError, match=r"Give it lane_bytes\(n\), with n a power of two and 256 or more"):
            Lane.create(rt=RT, buffer=memoryview(bytearray(lane_bytes(ring_bytes))), name="odd")


class _Interposed(NativeRuntime):
    """Runs something between the steps of a writer, as another thread might."""

    def __init__(self) -> None:
        self.before: dict[str, Any] = {}

    def region(
        self, action: str, lock: Lock | Condition | None = None, /, **fields: Any
    ) -> AbstractContextManager[Any, bool | None]:
        if action in self.before:
            self.before.pop(action)()
        return super().region(action, lock, **fields)


def test_a_second_writer_on_one_lane_claims_the_same_place() -> None:
    """The historical defect, dual_writers, lies between claim and publish: that is why a lane has one writer."""
    rt = _Interposed()
    writer, reader = ends(rt=rt)
    rt.before["Writer.Publish"] = lambda: SecondWriter(writer.lane).send(b"clobbered", timeout=0)
    writer.send(b"published", timeout=0)
    assert drain(reader) == [b"published"]
    assert writer.lane.counts() == (1, 1)


def test_a_second_writer_is_refused_when_it_attaches() -> None:
    """The lane knows its writer, and tells who it is; the first one goes on."""
    writer, reader = ends()
    with pytest.raises(UsageError, match=rf"has a writer already, process {os.getpid()}"):
        LaneWriter(writer.lane)
    writer.send(b"still here", timeout=0)
    assert drain(reader) == [b"still here"]


def test_a_second_thread_is_refused_in_the_middle_of_a_send() -> None:
    """Nothing of its message is seen, and the first send, and later ones, are whole."""
    rt = _Interposed()
    writer, reader = ends(rt=rt)

    def intrude() -> None:
        with pytest.raises(UsageError, match="Two threads send on lane"):
            writer.send(b"intruder", timeout=0)

    rt.before["Writer.Publish"] = intrude
    writer.send(b"first", timeout=0)
    writer.send(b"second", timeout=0)
    assert drain(reader) == [b"first", b"second"]


def test_a_claim_for_which_the_room_is_gone_is_no_claim() -> None:
    """Room is looked at again inside the claim: even a second writer never makes the first overwrite unread bytes."""
    rt = _Interposed()
    writer, reader = ends(256, rt=rt)
    rt.before["Writer.Claim"] = lambda: [SecondWriter(writer.lane).send(b"x" * 48, timeout=0) for _ in range(4)]
    with pytest.raises(Full):
        writer.send(b"late", timeout=0)
    assert drain(reader) == [b"x" * 48] * 4


def test_nothing_is_visible_between_claim_and_publish() -> None:
    """A writer that stops there has published nothing."""
    rt = _Interposed()
    writer, reader = ends(rt=rt)
    seen: list[object] = []
    rt.before["Writer.Publish"] = lambda: seen.append(reader.take())
    writer.send(b"body", timeout=0)
    assert seen == [None]


def test_ten_thousand_messages_need_no_descriptor() -> None:
    """Memory is reused: the number of descriptors stays what it is."""
    writer, reader = ends(4096)
    before = len(os.listdir("/proc/self/fd"))
    for number in range(10_000):
        writer.send(b"%d" % number, timeout=0)
        assert drain(reader) == [b"%d" % number]
    assert len(os.listdir("/proc/self/fd")) == before
    assert writer.lane.counts() == (10_000, 10_000)


def test_a_record_takes_its_header_and_padded_body() -> None:
    """Sixteen bytes and the body, up to the next multiple of eight."""
    writer, _ = ends()
    free = writer.lane.room()
    writer.send(b"123456789", timeout=0)
    assert free - writer.lane.room() == padded(RECORD.size + 9) == 32


def test_a_tensor_alone_that_is_larger_than_the_ring_travels_in_fragments() -> None:
    """It is put together as one that is small: a message without a body."""
    lane = plain_lane(256)
    writer, reader = LaneWriter(lane), LaneReader(lane)
    data = bytes(range(250)) * 4
    sender = RT.spawn(lambda: writer.send(b"", [tensor(data)], timeout=30), name="sender")
    while (message := reader.take()) is None:
        pass
    sender.join(10)
    assert (message.kind, message.body) == (Kind.MESSAGE, b"")
    assert [bytes(each.data) for each in message.tensors] == [data]
