"""A queue between two processes that pickles messages; each large array travels in a fresh POSIX segment of its own.

    send ── array ──► new segment, filled ─┐                        ┌─► attached, copied out, unlinked ──► unpack
      └── pickle: message, segment names ──┴─ multiprocessing.Queue ┘

Each output is copied twice, and each time to memory that nobody has touched before: the kernel clears it, a page at a
time, on the way.
"""

from __future__ import annotations

import io
import itertools
import multiprocessing
import pickle
import queue
from collections.abc import Iterator
from multiprocessing import resource_tracker
from multiprocessing.shared_memory import SharedMemory
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from omni_ipc.errors import PeerClosed, Timeout
from omni_ipc.scenarios.legacy.pickling import INLINE_BYTES
from omni_ipc.transport.arrays import is_array

M = TypeVar("M")

_GOODBYE = b""


class Copies:
    """Bytes of arrays that this process has copied, into segments and out of them."""

    def __init__(self) -> None:
        self.nbytes = 0


COPIES = Copies()


class Parcel(NamedTuple):
    """Stands for an array in a pickled message."""

    segment: str
    dtype: str
    shape: tuple[int, ...]


class SegmentQueue(Generic[M]):
    """The reading end, of any number of writers; make it, and its writers, before the processes part.

    Args:
        names: what the names of its segments begin with.
    """

    def __init__(self, names: str) -> None:
        resource_tracker.ensure_running()  # one for both: else that of the writer calls each segment leaked
        self.queue = multiprocessing.get_context("fork").Queue()
        self._names = (f"{names}.{number}" for number in itertools.count())
        self._open = 0

    def writer(self) -> SegmentWriter[M]:
        """Make a writing end; the queue is closed when all of them are."""
        self._open += 1
        return SegmentWriter(self.queue, (f"{next(self._names)}.{number}" for number in itertools.count()))

    def receive(self, timeout: float) -> Unpickled[M]:
        while self._open > 0:
            try:
                data = self.queue.get(timeout=timeout)
            except queue.Empty:
                raise Timeout(f"Nothing came within {timeout:g} s. Wait longer, or look at the worker.") from None
            if data != _GOODBYE:
                return Unpickled(data)
            self._open -= 1
        raise PeerClosed("Every writer has closed the queue, or its reader has.")

    def close(self) -> None:
        """Stop receiving: a receive that waits ends."""
        self._open = 0
        self.queue.put(_GOODBYE)

    def join(self) -> None:
        """Give back what this process holds of it."""
        self.queue.close()
        self.queue.join_thread()


class SegmentWriter(Generic[M]):
    """A writing end, of one thread."""

    def __init__(self, shared: Any, names: Iterator[str]) -> None:
        self._queue = shared
        self._names = names

    def send(self, message: M, payload: Any = None) -> None:
        file = io.BytesIO()
        _Packer(file, self._names).dump((message, payload))
        self._queue.put(file.getvalue())

    def close(self) -> None:
        self._queue.put(_GOODBYE)


class Unpickled(Generic[M]):
    """A received message; its arrays are still in their segments."""

    def __init__(self, data: bytes) -> None:
        unpacker = _Unpacker(io.BytesIO(data))
        self.message: M
        self.message, self._payload = unpacker.load()

    def unpack(self) -> Any:
        return _taken_out(self._payload)


class _Packer(pickle.Pickler):
    def __init__(self, file: io.BytesIO, names: Iterator[str]) -> None:
        super().__init__(file, protocol=pickle.HIGHEST_PROTOCOL)
        self._names = names

    def persistent_id(self, obj: Any) -> Parcel | None:
        if not is_array(obj) or obj.nbytes <= INLINE_BYTES:
            return None
        array = np.asarray(obj)
        segment = SharedMemory(next(self._names), create=True, size=array.nbytes)
        np.ndarray(array.shape, array.dtype, segment.buf)[...] = array
        COPIES.nbytes += array.nbytes
        segment.close()
        return Parcel(segment.name, array.dtype.str, array.shape)


class _Unpacker(pickle.Unpickler):
    def persistent_load(self, pid: Any) -> Parcel:
        parcel: Parcel = pid
        return parcel


def _taken_out(tree: Any) -> Any:
    """Copy every array out of its segment, and unlink that."""
    match tree:
        case Parcel():
            segment = SharedMemory(tree.segment)
            array = np.ndarray(tree.shape, tree.dtype, segment.buf).copy()
            COPIES.nbytes += array.nbytes
            segment.close()
            segment.unlink()
            return array
        case dict():
            return {key: _taken_out(value) for key, value in tree.items()}
        case list() | tuple():
            return type(tree)(map(_taken_out, tree))
    return tree
