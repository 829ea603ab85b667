"""A slot while its writer fills it: produce in place, then commit or abort.

loan = slab.loan(nbytes, timeout=1)
image = loan.as_numpy("float32", (1024, 1024, 3))     or loan.as_torch(...), or loan.view
image[:] = ...
loan.commit(writer, body=b"ready", timeout=1)         or sender.send(message, {"image": loan})
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from omni_ipc.errors import UsageError
from omni_ipc.transport import dtypes
from omni_ipc.transport.broadcast import publish
from omni_ipc.transport.hold import IN_SIZED_CLASSES, Hold
from omni_ipc.transport.tensor import HEADS, NOTHING, Framework, Tensor

if TYPE_CHECKING:
    from omni_ipc.transport.slab import Slab
    from omni_ipc.transport.writer import LaneWriter

_Kind: TypeAlias = tuple[Framework, int, tuple[int, ...], int]
"""Framework, code of the element type, shape and bytes of what a loan is sent as."""

_NUMPY, _UINT8 = Framework.NUMPY, dtypes.code_of("uint8")


class Event(Protocol):
    """Something to wait for, such as a CUDA event."""

    def synchronize(self) -> object: ...


class Loan(Hold):
    """A writer's hold on one slot; given up unsent, by `abort` or by the garbage collector, the slot goes back.

    It stands for a tensor in trees that are sent: the one that it was last viewed as, else its bytes. Once committed,
    the slot is its readers': whoever writes to it through an older view alters what they see, and nothing prevents it.
    """

    __slots__ = IN_SIZED_CLASSES
    FIELDS = (*Hold.FIELDS, "_kind", "_ready", "nbytes")

    nbytes: int
    _owner: Slab
    _kind: _Kind
    _ready: Event | None

    def begun(self, nbytes: int) -> Loan:
        """Lend the slot's first bytes."""
        self.nbytes = nbytes
        self._kind = _NUMPY, _UINT8, (nbytes,), nbytes
        self._ready = None
        return self

    @property
    def view(self) -> memoryview:
        """The loan's bytes, writable.

        Raises:
            UsageError: it was committed or aborted.
        """
        self._check()
        return self.memory()[: self.nbytes]

    def as_numpy(self, dtype: str, shape: Sequence[int]) -> np.ndarray[Any, Any]:
        """View the loan's first bytes as an array, and send them as that.

        Raises:
            UsageError: numpy has no such type, or the array is larger than the loan.
        """
        if dtype not in dtypes.NUMPY_DTYPES:
            raise UsageError(f"numpy has no element type '{dtype}' that travels. Use as_torch, or 'uint8'.")
        nbytes = self._become(Framework.NUMPY, dtype, tuple(shape))
        return np.frombuffer(self.view[:nbytes], dtype=dtype).reshape(tuple(shape))

    def as_torch(self, dtype: str, shape: Sequence[int]) -> Any:
        """View the loan's first bytes as a torch tensor, and send them as that.

        Args:
            dtype: torch's name of it, without "torch.".
            shape: of the tensor.

        Raises:
            UsageError: there is no such type, or the tensor is larger than the loan.
        """
        if not dtypes.travels(dtype):
            raise UsageError(f"There is no element type '{dtype}' that travels. Give a name such as 'bfloat16'.")
        nbytes = self._become(Framework.TORCH, dtype, tuple(shape))
        from omni_ipc.transport import arrays

        return arrays.from_tensor(Tensor(Framework.TORCH, dtype, tuple(shape), self.view[:nbytes]))

    def fill(self, array: Any) -> None:
        """Copy a numpy array or a host torch tensor into the loan, contiguous or not, and send it as that.

        Raises:
            UsageError: its elements are no raw bytes, or are more than the loan has room for.
        """
        from omni_ipc.transport import arrays

        source = arrays.to_source(array, "the array")
        nbytes = self._become(source.framework, source.dtype, source.shape)
        if nbytes:
            source.copy_to(self.view[:nbytes])

    def ready_after(self, event: Event) -> None:
        """Let the commit wait for an event: of the copy that fills the loan, when a device does it."""
        self._ready = event

    def commit(self, *writers: LaneWriter, body: bytes = b"", timeout: float) -> None:
        """Publish the loan as a message of one tensor, on every lane or on none.

        Raises:
            Full: a lane had no room in time; nothing is visible, and the loan is still yours.
            UsageError: it was committed or aborted, or two of the lanes have one reader.

        Points: Those of `LaneWriter.send`.
        """
        publish(writers, body, (self,), (self,), timeout)

    def abort(self) -> None:
        """Give the slot back unsent; idempotent, and nothing after a commit."""
        if self._armed:
            self.now()
            self._owner.look_again()

    def head(self) -> bytes:
        """Describe what the loan will be sent as, for its record.

        Raises:
            UsageError: it was committed or aborted.
        """
        self._check()
        framework, code, shape, nbytes = self._kind
        dims = len(shape)
        return HEADS[dims].pack(self.slot, self.generation, nbytes, code, framework, dims, 0, *shape)

    def inline(self) -> memoryview:
        """Give nothing: the data lie in the slot."""
        return NOTHING

    def settle(self) -> None:
        """Wait until the loan is filled."""
        if self._ready is not None:
            self._ready.synchronize()

    def hand_over(self, readers: Sequence[int]) -> None:
        """Leave the slot to its readers, who may have seen it already; idempotent."""
        if self._armed:
            self.never()
            self._owner.hold(self.slot, readers)

    def _check(self) -> None:
        if not self._armed:
            raise UsageError(f"The loan of slot {self.slot} was committed or aborted. Take another loan.")

    def _become(self, framework: Framework, dtype: str, shape: tuple[int, ...]) -> int:
        nbytes = math.prod(shape) * dtypes.item_bytes(dtype)
        if min(shape, default=0) < 0 or nbytes > self.nbytes:
            raise UsageError(f"{shape} elements of {dtype} need {nbytes} bytes, and the loan has {self.nbytes}.")
        self._kind = framework, dtypes.code_of(dtype), shape, nbytes
        return nbytes
