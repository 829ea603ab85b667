"""A slot while its writer fills it: produce in place, then commit or abort.

loan = slab.loan(nbytes, timeout=1)
image = loan.as_numpy("float32", (1024, 1024, 3))     or loan.as_torch(...), or loan.view
image[:] = ...
loan.commit(writer, body=b"ready", timeout=1)         or sender.send(message, {"image": loan})
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from omni_ipc.errors import UsageError
from omni_ipc.transport import dtypes
from omni_ipc.transport.broadcast import publish
from omni_ipc.transport.lease import End
from omni_ipc.transport.tensor import Framework, Place, Tensor

if TYPE_CHECKING:
    from omni_ipc.transport.slab import Slab
    from omni_ipc.transport.writer import LaneWriter


class Event(Protocol):
    """Something to wait for, such as a CUDA event."""

    def synchronize(self) -> object: ...


class Loan:
    """A writer's hold on one slot; given up unsent, by `abort` or by the garbage collector, the slot goes back.

    It stands for a tensor in trees that are sent: the one that it was last viewed as, else its bytes. Once committed,
    the slot is its readers': whoever writes to it through an older view alters what they see, and nothing prevents it.
    """

    __slots__ = ("_end", "_kind", "_memory", "_ready", "nbytes", "place", "slab")

    def __init__(self, slab: Slab, place: Place, memory: memoryview, end: End) -> None:
        self.slab = slab
        self.place = place
        self.nbytes = memory.nbytes
        self._memory: memoryview | None = memory
        self._end = end
        self._kind: tuple[Framework, str, tuple[int, ...]] = (Framework.NUMPY, "uint8", (memory.nbytes,))
        self._ready: Event | None = None

    @property
    def view(self) -> memoryview:
        """The loan's bytes, writable.

        Raises:
            UsageError: it was committed or aborted.
        """
        if self._memory is None:
            raise UsageError(f"The loan of slot {self.place.slot} was committed or aborted. Take another loan.")
        return self._memory

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

    def ready_after(self, event: Event) -> None:
        """Let the commit wait for an event: of the copy that fills the loan, when a device does it."""
        self._ready = event

    def commit(self, *writers: LaneWriter, body: bytes = b"", timeout: float) -> None:
        """Publish the loan as a message of one tensor, on every lane or on none.

        Raises:
            Full: a lane had no room in time; nothing is visible, and the loan is still yours.
            UsageError: it was committed or aborted, or two of the lanes have one reader.

        Points: Slab.Commit, then those of `LaneWriter.send`.
        """
        publish(writers, body, [self.tensor()], [self], timeout)

    def abort(self) -> None:
        """Give the slot back unsent; idempotent, and nothing after a commit."""
        if self._end.pending:
            self._end.now()
            self.slab.look_again()
        self._memory = None

    def tensor(self) -> Tensor:
        """Describe what the loan will be sent as."""
        framework, dtype, shape = self._kind
        return Tensor(framework, dtype, shape, self.view[: _nbytes(dtype, shape)], self.place)

    def settle(self) -> None:
        """Wait until the loan is filled."""
        if self._ready is not None:
            self._ready.synchronize()

    def hand_over(self) -> None:
        """Forget the slot: it is its readers' now."""
        self._end.never()
        self._memory = None

    def _become(self, framework: Framework, dtype: str, shape: tuple[int, ...]) -> int:
        nbytes = _nbytes(dtype, shape)
        if min(shape, default=0) < 0 or nbytes > self.nbytes:
            raise UsageError(f"{shape} elements of {dtype} need {nbytes} bytes, and the loan has {self.nbytes}.")
        self._kind = framework, dtype, shape
        return nbytes


def _nbytes(dtype: str, shape: tuple[int, ...]) -> int:
    return math.prod(shape) * dtypes.item_bytes(dtype)
