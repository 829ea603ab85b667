"""A tensor as bytes and their description: what a TENSOR record carries, of no framework's class."""

from __future__ import annotations

import enum
import math
import struct
from collections.abc import Callable
from typing import Protocol

import msgspec

from omni_ipc.errors import FormatError
from omni_ipc.transport import dtypes
from omni_ipc.transport.layout import INLINE, TENSOR, padded
from omni_ipc.transport.lease import Lease

HEAD_ALIGNMENT = 16  # so that the data behind the head are aligned for every element type
PLACE_ALIGNMENT = 64
MOST_DIMS = 64  # numpy's limit

NOTHING = memoryview(b"")
_DIMS_OFFSET = 18  # of the byte that counts them


class Framework(enum.IntEnum):
    """Whose tensor it was, and will be again."""

    NUMPY = 1
    TORCH = 2


_FRAMEWORKS = {framework.value: framework for framework in Framework}


class Place(msgspec.Struct, frozen=True):
    """Where data lie in a slab."""

    slot: int
    generation: int
    offset: int  # in the slot; a multiple of 64


_NOWHERE = Place(INLINE, 0, 0)


class Sendable(Protocol):
    """What can be a TENSOR record."""

    def head(self) -> bytes:
        """Encode the description, as it stands in front of inline data."""

    def inline(self) -> memoryview:
        """Give the data that stand behind the head in the record."""


class Tensor(msgspec.Struct, frozen=True):
    """Elements in C order, as raw bytes."""

    framework: Framework
    dtype: str
    shape: tuple[int, ...]
    data: memoryview  # format "B", contiguous; the sender's own memory, the receiver's own copy, or a slot
    place: Place | None = None  # of a sender's data, if they lie in its slab
    lease: Lease | None = None  # of a receiver's data, if they lie in the slab; the tensors of one slot share it

    def head(self) -> bytes:
        """Encode the description, as it stands in front of inline data."""
        place, code, shape = self.place or _NOWHERE, dtypes.code_of(self.dtype), self.shape
        units, dims, nbytes = place.offset // PLACE_ALIGNMENT, len(shape), self.data.nbytes
        return HEADS[dims].pack(place.slot, place.generation, nbytes, code, self.framework, dims, units, *shape)

    def inline(self) -> memoryview:
        """Give the data that stand behind the head in the record: none, if they lie in a slot."""
        return self.data if self.place is None else NOTHING

    @classmethod
    def from_body(cls, body: bytearray, lease: Callable[[int, int], Lease] | None = None) -> Tensor:
        """Decode the body of a record; the data are a view of it, or of a slot.

        Args:
            body: of the record.
            lease: takes hold of a slot and generation of the lane's slab; None if it has none.

        Raises:
            FormatError: a field is out of its range, or disagrees with another.
        """
        if len(body) < TENSOR.size:
            check_head(body)
        dims = body[_DIMS_OFFSET]
        if dims > MOST_DIMS or len(body) < HEADS[dims].size:
            raise FormatError(f"length: {dims} dimensions (at most {MOST_DIMS}) do not lie in {len(body)} bytes.")
        layout = HEADS[dims]
        slot, generation, nbytes, code, framework, _, units, *dimensions = layout.unpack_from(body)
        if slot != INLINE and lease is None:
            raise FormatError(f"slot: the tensor lies in slot {slot}, and this lane has no slab.")
        inline_bytes = nbytes if slot == INLINE else 0
        if layout.size + inline_bytes != len(body):
            raise FormatError(f"length: {dims} dimensions in front and {inline_bytes} bytes do not make {len(body)}.")
        kind = _FRAMEWORKS.get(framework)
        if kind is None:
            raise FormatError(f"framework: none has the code {framework}. Do both sides run the same omni_ipc?")
        dtype, item_bytes = dtypes.type_of(code)
        if math.prod(dimensions) * item_bytes != nbytes:
            raise FormatError(f"shape: {tuple(dimensions)} elements of {dtype} do not make {nbytes} bytes.")
        shape = tuple(dimensions)
        if slot == INLINE or lease is None:
            return cls(kind, dtype, shape, memoryview(body)[layout.size :])
        held = lease(slot, generation)
        view, offset = held.memory(), units * PLACE_ALIGNMENT
        end = offset + nbytes
        if end > len(view):
            raise FormatError(f"place: {nbytes} bytes at {offset} go beyond slot {slot} of {len(view)} bytes.")
        return cls(kind, dtype, shape, view[offset:end], None, held)


def check_head(body: bytearray) -> None:
    """Check that a record's body is long enough for the description of a tensor.

    Raises:
        FormatError: it is not.
    """
    if len(body) < TENSOR.size:
        raise FormatError(f"length: a tensor record of {len(body)} bytes lacks its head of {TENSOR.size} bytes.")


def _head(dims: int) -> struct.Struct:
    """Give the layout of a head with so many dimensions, with its padding."""
    nbytes = TENSOR.size + 8 * dims
    return struct.Struct(f"{TENSOR.format}{dims}Q{padded(nbytes, HEAD_ALIGNMENT) - nbytes}x")


HEADS = [_head(dims) for dims in range(MOST_DIMS + 1)]
"""Layouts of a tensor's description by its number of dimensions: the fields of `TENSOR`, then each dimension."""
