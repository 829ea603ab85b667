"""Records as a message: put together, and checked, by the reader of a lane; framing.py is the other side."""

from __future__ import annotations

import functools

import msgspec

from omni_ipc.errors import FormatError
from omni_ipc.transport.framing import ONLY
from omni_ipc.transport.layout import END, FIRST, FRAGMENT, HEADS, LAST, Kind, kind_of
from omni_ipc.transport.lease import SlabReader
from omni_ipc.transport.tensor import Tensor, check_head

MAX_MESSAGE_BYTES = 2 << 30

_MESSAGE, _TENSOR, _FRAGMENT = Kind.MESSAGE, Kind.TENSOR, Kind.FRAGMENT  # members of an enum are looked up slowly
_ALONE = (Kind.MESSAGE, Kind.ERROR)
_FIRST = (*HEADS, Kind.TENSOR)


class Message(msgspec.Struct, frozen=True):
    """What a lane delivers; its bytes are the receiver's own, but for tensors that lie in a slab: those are leased."""

    kind: Kind
    sequence: int  # of its last record
    body: bytearray
    tensors: tuple[Tensor, ...]


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
