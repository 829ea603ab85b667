"""``queue.Queue`` under control."""

from __future__ import annotations

import queue
from collections import deque
from typing import Any

from omni_ipc.testbed.brief import brief
from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.objects.base import Controlled
from omni_ipc.testbed.operations import Operation, Reading


class ControlledQueue(queue.Queue[Any], Controlled):
    """A first-in-first-out queue; ``maxsize`` of at most 0 means unbounded."""

    kind = "queue"

    def __init__(self, kernel: Kernel, maxsize: int = 0) -> None:
        Controlled.__init__(self, kernel)
        self._items: deque[Any] = deque()
        self._maxsize = maxsize

    def put(self, item: Any, block: bool = True, timeout: float | None = None) -> None:
        operation = Operation("queue.put", self, lambda: self._items.append(item), self._has_room, _raise_full)
        self.kernel.perform_within(operation, _limit(block, timeout))

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        operation = Operation("queue.get", self, self._items.popleft, self._has_items, _raise_empty)
        return self.kernel.perform_within(operation, _limit(block, timeout))

    def put_nowait(self, item: Any) -> None:
        self.put(item, block=False)

    def get_nowait(self) -> Any:
        return self.get(block=False)

    def qsize(self) -> int:
        return int(self.kernel.perform(Reading("queue.qsize", self, self._items.__len__)))

    def empty(self) -> bool:
        return bool(self.kernel.perform(Reading("queue.empty", self, lambda: not self._items)))

    def full(self) -> bool:
        return bool(self.kernel.perform(Reading("queue.full", self, lambda: not self._has_room())))

    def _has_items(self) -> bool:
        return len(self._items) > 0

    def _has_room(self) -> bool:
        return self._maxsize <= 0 or len(self._items) < self._maxsize

    def __repr__(self) -> str:
        return Controlled.__repr__(self)

    def shown(self) -> str:
        return brief(list(self._items))

    def blocked_on(self) -> str:
        return f"{self.name}, which is {'full' if self._items else 'empty'}"


def _limit(block: bool, timeout: float | None) -> float | None:
    if not block:
        return 0.0
    if timeout is not None and timeout < 0:
        raise ValueError("'timeout' must be a non-negative number")
    return timeout


def _raise_full() -> None:
    raise queue.Full


def _raise_empty() -> None:
    raise queue.Empty
