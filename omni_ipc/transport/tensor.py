"""A tensor as bytes and their description: what a TENSOR record carries, of no framework's class."""

from __future__ import annotations

import enum
import math
import struct
from dataclasses import dataclass

from omni_ipc.errors import FormatError
from omni_ipc.transport import dtypes
from omni_ipc.transport.layout import INLINE, TENSOR, padded

HEAD_ALIGNMENT = 16  # so that the data behind the head are aligned for every element type
MOST_DIMS = 64  # numpy's limit


class Framework(enum.IntEnum):
    """Whose tensor it was, and will be again."""

    NUMPY = 1
    TORCH = 2


_FRAMEWORKS = {framework.value: framework for framework in Framework}


@dataclass(frozen=True, slots=True)
class Tensor:
    """Elements in C order, as raw bytes."""

    framework: Framework
    dtype: str
    shape: tuple[int, ...]
    data: memoryview  # format "B", contiguous; the sender's own memory, or the receiver's own copy

    def head(self) -> bytes:
        """Encode the description, as it stands in front of inline data."""
        code, dims = dtypes.code_of(self.dtype), len(self.shape)
        fixed = TENSOR.pack(INLINE, 0, self.data.nbytes, code, self.framework, dims)
        head = fixed + struct.pack(f"<{dims}Q", *self.shape)
        return head.ljust(padded(len(head), HEAD_ALIGNMENT), b"\0")

    @classmethod
    def from_body(cls, body: bytearray) -> Tensor:
        """Decode the body of a record; the data are a view of it.

        Raises:
            FormatError: a field is out of its range, or disagrees with another.
        """
        if len(body) < TENSOR.size:
            raise FormatError(f"length: a tensor record of {len(body)} bytes lacks its head of {TENSOR.size} bytes.")
        slot, _, nbytes, code, framework, dims = TENSOR.unpack_from(body)
        head_bytes = padded(TENSOR.size + 8 * dims, HEAD_ALIGNMENT)
        if slot != INLINE:
            raise FormatError(f"slot: the tensor lies in slot {slot}, and this lane has no slab.")
        if framework not in _FRAMEWORKS:
            raise FormatError(f"framework: none has the code {framework}. Do both sides run the same omni_ipc?")
        if dims > MOST_DIMS or head_bytes + nbytes != len(body):
            raise FormatError(
                f"length: {dims} dimensions (at most {MOST_DIMS}) and {nbytes} bytes do not make {len(body)}."
            )
        dtype, shape = dtypes.name_of(code), struct.unpack_from(f"<{dims}Q", body, TENSOR.size)
        if math.prod(shape) * dtypes.item_bytes(dtype) != nbytes:
            raise FormatError(f"shape: {shape} elements of {dtype} do not make {nbytes} bytes.")
        return cls(_FRAMEWORKS[framework], dtype, shape, memoryview(body)[head_bytes:])
