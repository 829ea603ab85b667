"""Hands on what came by a slab to another process, where it lies: the second hop, without a copy.

    worker ── slab ──► engine: array ── Relay.send ──► lane ──► trainer: the same bytes, by the slab's descriptor
                          └ may be dropped from then on          └ its release, or its death, gives the slot back

What does not lie in the slab as a whole (small arrays, strided views, results of a computation) is copied.
"""

from __future__ import annotations

import contextlib
from collections import deque
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, NamedTuple, TypeVar

from omni_ipc.errors import PeerError, UsageError
from omni_ipc.seam.api import Runtime
from omni_ipc.transport import wire
from omni_ipc.transport.arrays import Source
from omni_ipc.transport.channel import Envelope
from omni_ipc.transport.connection import connect
from omni_ipc.transport.guests import Outlet
from omni_ipc.transport.loan import Loan
from omni_ipc.transport.packing import split
from omni_ipc.transport.tensor import PLACE_ALIGNMENT, Place, Tensor

M = TypeVar("M")


class HandedOn(NamedTuple):
    """How the arrays of a message travelled."""

    leased_bytes: int
    copied_bytes: int


class Relay(Generic[M]):
    """A lane to a process that is a guest of this process's slab; one thread's, and a context manager.

    Args:
        name: what the other process serves (`Server`); it receives with `PortReceiver`, as from any writer.
        outlet: of the slab that this process reads.
        rt: this process's runtime.
        lane: what messages on both sides shall call this lane.
        timeout: seconds that connecting, each send and the close wait at most.
        directory: see `connect`.

    Raises:
        See `connect`.
    """

    def __init__(
        self, name: str, outlet: Outlet, *, rt: Runtime, lane: str, timeout: float, directory: Path | None = None
    ) -> None:
        self._reader = outlet.reader
        self._timeout = timeout
        self._connection = connect(name, rt=rt, lane=lane, timeout=timeout, directory=directory, outlet=outlet)
        self._writer = self._connection.writer
        self._kept: deque[tuple[int, Any]] = deque()  # records up to which it was sent, and the payload

    def send(self, message: M, payload: Any) -> HandedOn:
        """Hand on a tree of arrays beside a struct, and wait until the other process holds it.

        Raises:
            Timeout: it has not taken it in time. It still may: the payload is kept for it until it has.
            Full: no room came free; nothing was sent.
            PeerDied, PeerClosed: the other process takes nothing any more.
            UsageError: something cannot travel, or was released.
        """
        packed, sources = split(payload, "payload")
        tensors = [self._placed(source) for source in sources]
        self._writer.send(wire.encode(Envelope(message, packed)), tensors, timeout=self._timeout)
        self._kept.append((self._writer.lane.counts().written, payload))
        try:
            taken = self._writer.await_taken(self._timeout).taken
        except PeerError:
            self._kept.clear()
            raise
        while self._kept and self._kept[0][0] <= taken:
            self._kept.popleft()
        leased = sum(tensor.data.nbytes for tensor in tensors if tensor.place is not None)
        return HandedOn(leased, sum(tensor.data.nbytes for tensor in tensors) - leased)

    def close(self) -> None:
        """Say that nothing more will come, and let go of what was not taken; idempotent.

        Raises:
            Full: no room came free in time to say so. Close once more, or end this process: that is seen as well.
        """
        try:
            with contextlib.suppress(PeerError):  # nobody is left to be told
                self._connection.close(self._timeout)
        finally:
            self._kept.clear()

    def __enter__(self) -> Relay[M]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _placed(self, source: Source | Loan) -> Tensor:
        if isinstance(source, Loan):
            raise UsageError(
                f"The payload holds a loan, of slot {source.slot}. Commit it, and hand on what is received."
            )
        tensor, address = source.inline(), source.address()
        found = None if address is None else self._reader.locate(address, source.nbytes)
        if found is None or found[2] % PLACE_ALIGNMENT:
            return tensor
        return Tensor(tensor.framework, tensor.dtype, tensor.shape, tensor.data, Place(*found))
