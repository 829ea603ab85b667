"""Bytes that no honest writer leaves in a ring: the reader refuses them, and does nothing else."""

from __future__ import annotations

import contextlib
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omni_ipc.errors import FormatError, PeerClosed
from omni_ipc.transport.lane import Lane
from omni_ipc.transport.layout import (
    FIRST,
    FRAGMENT,
    LAST,
    READ_POSITION,
    RECORD,
    RING_OFFSET,
    TENSOR,
    WRITE_POSITION,
    Kind,
    padded,
)
from omni_ipc.transport.reader import LaneReader
from omni_ipc.transport.tensor import Framework, Tensor
from omni_ipc.transport.writer import LaneWriter
from tests.support.lanes import plain_lane

BOTH = FIRST | LAST


def publish(lane: Lane, *records: tuple[int, int, bytes]) -> None:
    """Write records (kind, flags, body) as they are given, numbered as they should be."""
    position = 0
    for sequence, (kind, flags, body) in enumerate(records):
        head = RECORD.pack(len(body), kind, flags, 0, sequence)
        position = padded(lane.write(lane.write(position, head), body))
    lane.words.store(WRITE_POSITION, position)


def fragment(index: int, count: int, total: int, kind: int, data: bytes) -> bytes:
    """Encode the body of a fragment."""
    return FRAGMENT.pack(index, count, total, kind) + data


def described(
    *, slot: int = 0xFFFFFFFF, nbytes: int = 2, dtype: int = 2, framework: int = 1, shape: tuple[int, ...] = (2,)
) -> bytes:
    """Encode the body of a tensor of two bytes, or something wrong in one field."""
    fixed = TENSOR.pack(slot, 0, nbytes, dtype, framework, len(shape), 0) + struct.pack(f"<{len(shape)}Q", *shape)
    return fixed.ljust(padded(len(fixed), 16), b"\0") + b"ab"


HEAD = (Kind.MESSAGE, FIRST, b"")


@pytest.mark.parametrize(
    ("complaint", "records"),
    [
        ("kind: no record has the code 9", [(9, BOTH, b"")]),
        ("flags: 4", [(Kind.MESSAGE, 4, b"")]),
        ("flags: a message goes on that has not begun", [(Kind.MESSAGE, LAST, b"")]),
        ("kind: TENSOR stands at place 1", [(Kind.TENSOR, FIRST, described()), (Kind.TENSOR, LAST, described())]),
        ("length: a tensor record of 3 bytes", [(Kind.TENSOR, BOTH, b"abc")]),
        ("length: a message of 2,500 bytes; at most 2,000", [(Kind.TENSOR, BOTH, bytes(2500))]),
        ("kind: MESSAGE stands at place 1", [HEAD, (Kind.MESSAGE, LAST, b"")]),
        ("kind: ERROR stands at place 1", [HEAD, (Kind.ERROR, LAST, b"")]),
        ("length: a tensor record of 3 bytes", [HEAD, (Kind.TENSOR, LAST, b"abc")]),
        ("slot: the tensor lies in slot 3", [HEAD, (Kind.TENSOR, LAST, described(slot=3))]),
        ("dtype: no element type has the code 200", [HEAD, (Kind.TENSOR, LAST, described(dtype=200))]),
        ("framework: none has the code 7", [HEAD, (Kind.TENSOR, LAST, described(framework=7))]),
        ("shape: .3,. elements of uint8", [HEAD, (Kind.TENSOR, LAST, described(shape=(3,)))]),
        ("shape: .9223372036854775808, 2", [HEAD, (Kind.TENSOR, LAST, described(shape=(2**63, 2)))]),
        ("length: 1 dimensions .* and 99 bytes", [HEAD, (Kind.TENSOR, LAST, described(nbytes=99))]),
        ("length: 65 dimensions", [HEAD, (Kind.TENSOR, LAST, described(shape=(1,) * 65))]),
        ("length: a fragment of 2 bytes", [(Kind.FRAGMENT, FIRST, b"ab")]),
        ("kind: no record has the code 9", [(Kind.FRAGMENT, FIRST, fragment(0, 2, 4, 9, b"ab"))]),
        ("kind: fragments of a fragment", [(Kind.FRAGMENT, FIRST, fragment(0, 2, 4, 3, b"ab"))]),
        (
            "length: a message of 99,999 bytes; at most 2,000",
            [(Kind.FRAGMENT, FIRST, fragment(0, 2, 99_999, 1, b"ab"))],
        ),
        (r"fragment \(index, count", [(Kind.FRAGMENT, FIRST, fragment(1, 2, 4, 1, b"ab"))]),
        ("fragment: 2 of 1 bytes after 1 of 9", [(Kind.FRAGMENT, FIRST, fragment(0, 9, 1, 1, b"ab"))]),
        ("fragment: 2 of 4 bytes after 1 of 1", [(Kind.FRAGMENT, FIRST, fragment(0, 1, 4, 1, b"ab"))]),
        ("flags: the message ends before its last fragment", [(Kind.FRAGMENT, BOTH, fragment(0, 2, 4, 1, b"ab"))]),
        ("kind: MESSAGE stands", [(Kind.FRAGMENT, FIRST, fragment(0, 2, 4, 1, b"ab")), (Kind.MESSAGE, LAST, b"")]),
        ("length: a message of 2,500 bytes; at most 2,000", [(Kind.MESSAGE, BOTH, bytes(2500))]),
        ("final sequence", [(Kind.END, BOTH, struct.pack("<Q", 7))]),
        ("final sequence", [(Kind.END, BOTH, b"")]),
        ("final sequence", [(Kind.END, FIRST, struct.pack("<Q", 1)), (Kind.TENSOR, LAST, described())]),
    ],
)
def test_a_malformed_message_is_refused_by_name(complaint: str, records: list[tuple[int, int, bytes]]) -> None:
    """The error names the lane, the record and the field; nothing of the message is delivered, now or later."""
    lane = plain_lane(4096, max_message_bytes=2000)
    publish(lane, *records)
    reader = LaneReader(lane)
    for _ in range(2):
        with pytest.raises(FormatError, match=rf"Lane 'out', record {len(records) - 1}, {complaint}"):
            reader.take()


@pytest.mark.parametrize("position", [12, 8, 4096, 2**64 - 8])
def test_a_write_position_that_cannot_be_true_is_refused(position: int) -> None:
    """Not aligned, too short for a header, beyond the ring, or behind the reader."""
    lane = plain_lane(1024)
    lane.words.store(WRITE_POSITION, position)
    with pytest.raises(FormatError, match=r"write position|header: 8 bytes are published"):
        LaneReader(lane).take()


def test_a_body_longer_than_what_is_published_is_refused() -> None:
    """A length never leads the reader into bytes that are not published."""
    lane = plain_lane(1024)
    lane.write(0, RECORD.pack(4_000_000_000, Kind.MESSAGE, BOTH, 0, 0))
    lane.words.store(WRITE_POSITION, 64)
    with pytest.raises(FormatError, match="length: 4000000000 bytes, and 48 are published"):
        LaneReader(lane).take()


def test_a_broken_lane_stays_broken() -> None:
    """Also when its writer puts the bytes right: what was wrong once is not trusted again."""
    lane = plain_lane(1024)
    reader = LaneReader(lane)
    publish(lane, (Kind.MESSAGE, 4, b""))
    with pytest.raises(FormatError, match="flags: 4"):
        reader.take()
    publish(lane, (Kind.MESSAGE, BOTH, b""))
    with pytest.raises(FormatError, match="flags: 4"):
        reader.take()


def test_a_gap_in_the_sequence_is_refused_and_never_skipped() -> None:
    """A lost record is an error for good: what follows it is not delivered as if nothing had been."""
    lane = plain_lane(1024)
    writer, reader = LaneWriter(lane), LaneReader(lane)
    writer.send(b"0", timeout=0)
    assert reader.take() is not None
    lane.words.store(WRITE_POSITION + 1, 2)  # the count of records written: one was skipped
    writer.send(b"2", timeout=0)
    for _ in range(2):
        with pytest.raises(FormatError, match=r"Lane 'out', record 1, sequence: found 2\. Two writers on one lane"):
            reader.take()


@pytest.mark.parametrize(
    ("word", "value"), [(READ_POSITION, 8), (READ_POSITION, 2**63), (WRITE_POSITION, 2048), (WRITE_POSITION, 3)]
)
def test_a_writer_refuses_positions_that_cannot_be_true(word: int, value: int) -> None:
    """A reader gone wild cannot make the writer overwrite what is unread."""
    lane = plain_lane(1024)
    writer = LaneWriter(lane)
    lane.words.store(word, value)
    with pytest.raises(FormatError, match=r"Lane 'out', positions: -?[0-9]+ bytes in use, of a ring of 1024"):
        writer.send(b"body", timeout=0)


mutations = st.lists(st.tuples(st.integers(0, 700), st.integers(0, 255)), min_size=1, max_size=8)


@settings(max_examples=300)
@given(mutations=mutations)
def test_mutated_bytes_give_format_errors_or_valid_messages(mutations: list[tuple[int, int]]) -> None:
    """Whatever bytes of positions and ring a hostile writer changes, no other exception comes, and no hang."""
    buffer_lane = plain_lane(1024, max_message_bytes=5000)
    writer, reader = LaneWriter(buffer_lane), LaneReader(buffer_lane)
    for number in range(3):
        writer.send(b"body" * number, [Tensor(Framework.NUMPY, "int16", (2, 1), memoryview(b"abcd"))], timeout=0)
    writer.send(bytes(270), timeout=0)
    writer.close(0)
    ring = buffer_lane._buffer[128:]
    for place, value in mutations:
        offset = place if place < 16 else place + RING_OFFSET - 128 - 16
        ring[offset % len(ring)] = value
    with contextlib.suppress(FormatError, PeerClosed):
        for _ in range(10):
            message = reader.take()
            assert message is None or isinstance(message.body, bytearray)
