"""A message as records, and records as a message: cut on one side of a lane, put together on the other."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import TypeAlias

import msgspec

from omni_ipc.errors import FormatError
from omni_ipc.transport.layout import (
    ALIGNMENT,
    END,
    FIRST,
    FRAGMENT,
    HEADS,
    LAST,
    RECORD,
    RECORD_BYTES,
    Kind,
    kind_of,
)
from omni_ipc.transport.lease import SlabReader
from omni_ipc.transport.tensor import Sendable, Tensor, check_head

MAX_MESSAGE_BYTES = 2 << 30

ONLY = FIRST | LAST  # flags of a message of one record
_JOINED_BYTES = 16 << 10
_MESSAGE, _TENSOR, _FRAGMENT = Kind.MESSAGE, Kind.TENSOR, Kind.FRAGMENT  # members of an enum are looked up slowly
_ALONE = (Kind.MESSAGE, Kind.ERROR)
_FIRST = (*HEADS, Kind.TENSOR)
_PADDING = tuple(bytes(n) for n in range(ALIGNMENT))


class Message(msgspec.Struct, frozen=True):
    """What a lane delivers; its bytes are the receiver's own, but for tensors that lie in a slab: those are leased."""

    kind: Kind
    sequence: int  # of its last record
    body: bytearray
    tensors: tuple[Tensor, ...]


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


class Assembly:
    """The message in progress on one lane."""

    def __init__(self, max_message_bytes: int = MAX_MESSAGE_BYTES, slab: SlabReader | None = None) -> None:
        self._limit = max_message_bytes
        self._lease = None if slab is None else slab.lease
        self._bodies: list[tuple[Kind, bytearray]] = []
        self._fragments: _Fragments | None = None
        self._bytes = 0
        self._begun = False
        self.abandoned = 0  # messages whose writer gave up half-way

    def feed(self, kind: Kind, flags: int, sequence: int, body: bytearray) -> Message | None:
        """Add the next record, and return the message if that was its last one.

        Raises:
            FormatError: the record does not belong here, or its body is malformed.
        """
        if flags == ONLY and not self._begun and len(body) <= self._limit:  # most are such, and take fewer steps
            if kind in _ALONE:
                return Message(kind, sequence, body, ())
            if kind is _TENSOR:
                return Message(_MESSAGE, sequence, bytearray(), (Tensor.from_body(body, self._lease),))
        self._begin(bool(flags & FIRST))
        if kind is _FRAGMENT:
            self._join(body)
        else:
            self._admit(len(body))
            self._add(kind, body)
        return self._finish(sequence) if flags & LAST else None

    def _begin(self, first: bool) -> None:
        if first:
            self.abandoned += self._begun
            self._reset()
        elif not self._begun:
            raise FormatError("flags: a message goes on that has not begun.")
        self._begun = True

    def _admit(self, nbytes: int) -> None:
        self._bytes += nbytes
        if self._bytes > self._limit:
            raise FormatError(f"length: a message of {self._bytes:,} bytes; at most {self._limit:,} are taken.")

    def _join(self, body: bytearray) -> None:
        if self._fragments is None:
            self._fragments = _Fragments.from_first(body)
            self._admit(self._fragments.total)
        if self._fragments.add(body):
            whole, self._fragments = self._fragments, None
            self._add(whole.kind, whole.joined)

    def _add(self, kind: Kind, body: bytearray) -> None:
        begun_by = self._bodies[0][0] if self._bodies else None
        expected = kind in _FIRST if begun_by is None else kind is _TENSOR and begun_by is not _TENSOR
        if self._fragments is not None or not expected:
            raise FormatError(f"kind: {kind.name} stands at place {len(self._bodies)} of its message.")
        if kind is _TENSOR:  # now, and not when the message is whole: endless empty ones would meet no limit
            check_head(body)
        self._bodies.append((kind, body))

    def _finish(self, sequence: int) -> Message:
        if self._fragments is not None:
            raise FormatError("flags: the message ends before its last fragment.")
        if self._bodies[0][0] is _TENSOR:
            self._bodies.insert(0, (_MESSAGE, bytearray()))
        (kind, body), *rest = self._bodies
        if kind is Kind.END and (len(body) != END.size or rest or END.unpack(body) != (sequence,)):
            raise FormatError(f"final sequence: the lane ends with record {sequence}, and its END says otherwise.")
        message = Message(kind, sequence, body, self._tensors(rest))
        self._reset()
        return message

    def _tensors(self, records: list[tuple[Kind, bytearray]]) -> tuple[Tensor, ...]:
        """Decode tensors; only here, with the message whole, is a slot leased, and once for all that share it."""
        if len(records) == 1:
            return (Tensor.from_body(records[0][1], self._lease),)
        lease = self._lease and functools.cache(self._lease)
        return tuple([Tensor.from_body(body, lease) for _, body in records])

    def _reset(self) -> None:
        self._bodies, self._fragments, self._bytes, self._begun = [], None, 0, False


class _Fragments:
    """One record's body, as far as it has come."""

    def __init__(self, kind: Kind, count: int, total: int) -> None:
        if kind is Kind.FRAGMENT:
            raise FormatError("kind: fragments of a fragment.")
        self.kind = kind
        self.total = total
        self.joined = bytearray()  # grows with what came: a false total costs no memory
        self._count = count
        self._next = 0

    @classmethod
    def from_first(cls, body: bytearray) -> _Fragments:
        _, count, total, kind = _fragment_head(body)
        return cls(kind_of(kind), count, total)

    def add(self, body: bytearray) -> bool:
        """Add the next fragment, and tell whether the body is whole."""
        expected = (self._next, self._count, self.total, self.kind)
        found = _fragment_head(body)
        if found != expected:
            raise FormatError(f"fragment (index, count, total, kind): found {found}, expected {expected}.")
        self.joined += memoryview(body)[FRAGMENT.size :]
        self._next += 1
        whole = self._next == self._count
        if len(self.joined) > self.total or whole is not (len(self.joined) == self.total):
            raise FormatError(
                f"fragment: {len(self.joined)} of {self.total} bytes after {self._next} of {self._count}."
            )
        return whole


def _fragment_head(body: bytearray) -> tuple[int, int, int, int]:
    if len(body) < FRAGMENT.size:
        raise FormatError(f"length: a fragment of {len(body)} bytes lacks its head of {FRAGMENT.size} bytes.")
    index, count, total, kind = FRAGMENT.unpack_from(body)
    return index, count, total, kind
