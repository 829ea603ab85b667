"""A PUB/SUB socket, as far as it matters to who publishes: it takes everything, and drops without a word.

Messages come whole and in order, if they come. Made of the runtime's own objects, it can be explored like the rest.
"""

from __future__ import annotations

import contextlib
import queue
from typing import Generic, TypeVar

from omni_ipc.errors import Timeout
from omni_ipc.seam.api import Queue, Runtime

T = TypeVar("T")


class Socket(Generic[T]):
    """One publisher and one subscriber.

    Args:
        high_water: messages on their way beyond which it drops; 0 means that it has room for all.
    """

    def __init__(self, *, rt: Runtime, high_water: int = 0) -> None:
        self._rt = rt
        self._way: Queue[T] = rt.queue(high_water)
        self._joined = rt.event()

    def join(self) -> None:
        """Subscribe; what was published before is gone."""
        with self._rt.region("Socket.Join"):
            self._joined.set()

    def publish(self, message: T) -> None:
        """Send, and never say whether anybody will get it."""
        with self._rt.region("Socket.Publish"), contextlib.suppress(queue.Full):
            if self._joined.is_set():
                self._way.put_nowait(message)

    def is_empty(self) -> bool:
        return self._way.empty()

    def receive(self, timeout: float) -> T:
        """Take the next message.

        Raises:
            Timeout: none came within ``timeout`` seconds.
        """
        try:
            return self._way.get(timeout=timeout)
        except queue.Empty:
            with self._rt.region("Socket.GiveUp"):
                raise Timeout(f"No payload came within {timeout:g} s. Wait longer, or look at the worker.") from None
