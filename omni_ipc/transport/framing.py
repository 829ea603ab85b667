"""A message as records: made, cut and laid out by the writer of a lane; assembly.py is the other side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from omni_ipc.transport.layout import (
    ALIGNMENT,
    FIRST,
    FRAGMENT,
    LAST,
    RECORD,
    RECORD_BYTES,
    Kind,
)
from omni_ipc.transport.tensor import Sendable

ONLY = FIRST | LAST  # flags of a message of one record
_JOINED_BYTES = 16 << 10
_MESSAGE, _TENSOR = Kind.MESSAGE, Kind.TENSOR  # members of an enum are looked up slowly
_PADDING = tuple(bytes(n) for n in range(ALIGNMENT))

Data: TypeAlias = bytes | bytearray | memoryview  # of format "B"

Record: TypeAlias = tuple[Kind, bytes, Data, int]
"""One record before it is written: kind, head, data, flags; its body is head and data, one behind the other.

A plain tuple, because one is made, and taken apart, for each message.
"""


def as_one_record(
    kind: Kind, body: bytes | bytearray, tensors: Sequence[Sendable]
) -> tuple[Kind, bytes | bytearray] | None:
    """Give kind and body of the one record that a message is; None if it takes several, or carries inline data."""
    if not tensors:
        return kind, body
    if len(tensors) == 1 and not body and kind is _MESSAGE and not tensors[0].inline():
        return _TENSOR, tensors[0].head()
    return None


def message_records(kind: Kind, body: Data, tensors: Sequence[Sendable] = ()) -> list[Record]:
    """Make the records of a message; a tensor with nothing beside it is one by itself."""
    if not tensors:
        return [(kind, b"", body, ONLY)]
    *rest, last = tensors
    if not rest and not body and kind is _MESSAGE:
        return [(_TENSOR, last.head(), last.inline(), ONLY)]
    records: list[Record] = [(kind, b"", body, FIRST)]
    records += [(_TENSOR, tensor.head(), tensor.inline(), 0) for tensor in rest]
    records.append((_TENSOR, last.head(), last.inline(), LAST))
    return records


def body_bytes(records: Sequence[Record]) -> int:
    """Count the bytes of bodies."""
    return sum([len(head) + len(data) for _, head, data, _ in records])


def ring_bytes(records: Sequence[Record]) -> int:
    """Count the bytes that records take in a ring."""
    nbytes = 0
    for _, head, data, _ in records:
        nbytes += (RECORD_BYTES + len(head) + len(data) + ALIGNMENT - 1) & -ALIGNMENT  # padded, without a call
    return nbytes


def cut(records: list[Record], limit: int) -> list[list[Record]]:
    """Cut a message into batches of records, each to be published at once.

    Args:
        records: of the message.
        limit: bytes in the ring that a batch may take; a message that fits is one batch, another one is as many as it
            has records, of which the large ones are cut into fragments.
    """
    if ring_bytes(records) <= limit:
        return [records]
    return [[piece] for record in records for piece in _fragments(record, limit)]


def _fragments(record: Record, limit: int) -> Iterator[Record]:
    if ring_bytes([record]) <= limit:
        yield record
        return
    kind, head, data, flags = record
    total, whole = len(head) + len(data), memoryview(data)
    step = limit - RECORD_BYTES - FRAGMENT.size
    count = -(-total // step)
    for index in range(count):
        start, stop = index * step, min((index + 1) * step, total)
        begin = FRAGMENT.pack(index, count, total, kind) + head[start:stop]
        rest = whole[max(start - len(head), 0) : max(stop - len(head), 0)]
        ends = (FIRST if index == 0 else 0) | (LAST if index == count - 1 else 0)
        yield Kind.FRAGMENT, begin, rest, flags & ends


def frame(records: Sequence[Record], sequence: int) -> list[Data]:
    """Lay records out as they stand in the ring, one behind the other; the first has the given sequence number.

    What is small is joined, to be written by one access; what is large is not copied.
    """
    pieces: list[Data] = []
    for kind, head, data, flags in records:
        nbytes = len(head) + len(data)
        pieces += RECORD.pack(nbytes, kind, flags, 0, sequence), head, data, _PADDING[-nbytes % ALIGNMENT]
        sequence += 1
    return [b"".join(pieces)] if sum(map(len, pieces)) <= _JOINED_BYTES else pieces
