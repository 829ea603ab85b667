"""The bytes that two processes must agree on, written down: a change here is a new layout version."""

from __future__ import annotations

import struct

import pytest

from omni_ipc.errors import FormatError
from omni_ipc.transport.lane import Lane, lane_bytes
from omni_ipc.transport.layout import DOORBELL_BYTES, Header, Kind, SegmentKind
from omni_ipc.transport.reader import LaneReader
from omni_ipc.transport.tensor import Framework, Tensor
from omni_ipc.transport.writer import LaneWriter
from tests.support.lanes import RT


def test_a_lane_with_one_message_has_these_bytes() -> None:
    """Header, positions, counts and a record with a tensor beside it lie where the picture says."""
    buffer = bytearray(lane_bytes(1024))
    lane = Lane.create(rt=RT, buffer=memoryview(buffer), name="out", epoch=5)
    tensor = Tensor(Framework.NUMPY, "int16", (3,), memoryview(b"\1\0\2\0\3\0"))
    LaneWriter(lane).send(b"hello", [tensor], timeout=0)

    pid, start = struct.unpack_from("<QQ", buffer, 32)
    assert (pid > 1, start > 0) == (True, True)
    assert buffer[:32] == b"omni_ipc" + struct.pack("<IIQQ", 3, 1, 1024, 5)
    message = struct.pack("<IBBHQ", 5, 1, 1, 0, 0) + b"hello" + bytes(3)
    described = struct.pack("<IIQBBB5xQ", 0xFFFFFFFF, 0, 6, 5, 1, 1, 3) + b"\1\0\2\0\3\0"
    written = message + struct.pack("<IBBHQ", len(described), 2, 2, 0, 1) + described + bytes(2)
    assert buffer[512 : 512 + len(written)] == written
    assert struct.unpack_from("<QQ", buffer, 128) == (len(written), 2)
    assert struct.unpack_from("<QQQ", buffer, 256) == (0, 0, 0)
    assert struct.unpack_from("<Q", buffer, 384) == (0,)


def test_a_tensor_with_nothing_beside_it_is_one_record() -> None:
    """It is FIRST and LAST, and its reader gets a message whose body is empty."""
    buffer = bytearray(lane_bytes(1024))
    lane = Lane.create(rt=RT, buffer=memoryview(buffer), name="out")
    LaneWriter(lane).send(b"", [Tensor(Framework.NUMPY, "uint8", (2,), memoryview(b"ab"))], timeout=0)
    described = struct.pack("<IIQBBB5xQ", 0xFFFFFFFF, 0, 2, 2, 1, 1, 2) + b"ab"
    assert buffer[512:562] == struct.pack("<IBBHQ", len(described), 2, 3, 0, 0) + described
    message = LaneReader(lane).take()
    assert message is not None
    assert (message.kind, message.sequence, message.body) == (Kind.MESSAGE, 0, b"")
    assert [(tensor.shape, bytes(tensor.data)) for tensor in message.tensors] == [((2,), b"ab")]


@pytest.mark.parametrize(
    ("field", "offset", "value"),
    [
        ("magic", 0, b"omni-ipc"),
        ("version", 8, b"\1\0\0\0"),
        ("kind", 12, b"\2\0\0\0"),
        ("ring bytes", 16, struct.pack("<Q", 2048)),
        ("ring bytes", 16, struct.pack("<Q", 1000)),
    ],
)
def test_a_header_that_disagrees_is_refused_by_the_name_of_its_field(field: str, offset: int, value: bytes) -> None:
    """Another program's memory, another version or another geometry never becomes a lane."""
    buffer = memoryview(bytearray(lane_bytes(1024)))
    Lane.create(rt=RT, buffer=buffer, name="out")
    buffer[offset : offset + len(value)] = value
    with pytest.raises(FormatError, match=f"Segment 'out', header, {field}: found"):
        Lane(rt=RT, buffer=buffer, name="out")


@pytest.mark.parametrize(
    ("kind", "least"), [(SegmentKind.LANE, lane_bytes(256)), (SegmentKind.DOORBELL, DOORBELL_BYTES)]
)
def test_a_segment_too_small_for_its_kind_is_refused(kind: SegmentKind, least: int) -> None:
    """The size is looked at before any field is read."""
    for nbytes in (0, 7, DOORBELL_BYTES - 1):
        with pytest.raises(FormatError, match=f"size: found {nbytes}"):
            Header.read(memoryview(bytearray(nbytes)), kind, "small")
