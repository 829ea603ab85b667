"""``queue.SimpleQueue`` under control."""

from __future__ import annotations

import queue
from collections import deque
from typing import Any

from omni_ipc.testbed.brief import brief
from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.objects.base import Controlled
from omni_ipc.testbed.operations import Operation, Reading


class ControlledSimpleQueue(Controlled):
    """An unbounded first-in-first-out queue."""

    kind = "simple_queue"

    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel)
        self._items: deque[Any] = deque()

    def put(self, item: Any, block: bool = True, timeout: float | None = None) -> None:
        self.kernel.perform(Operation("queue.put", self, lambda: self._items.append(item)))

    def put_nowait(self, item: Any) -> None:
        self.put(item)

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        if block and timeout is not None and timeout < 0:
            raise ValueError("'timeout' must be a non-negative number")
        operation = Operation("queue.get", self, self._items.popleft, self._has_items, _raise_empty)
        return self.kernel.perform_within(operation, timeout if block else 0.0)

    def get_nowait(self) -> Any:
        return self.get(block=False)

    def empty(self) -> bool:
        return bool(self.kernel.perform(Reading("queue.empty", self, lambda: not self._items)))

    def qsize(self) -> int:
        return int(self.kernel.perform(Reading("queue.qsize", self, self._items.__len__)))

    def _has_items(self) -> bool:
        return len(self._items) > 0

    def shown(self) -> str:
        return brief(list(self._items))

    def blocked_on(self) -> str:
        return f"{self.name}, which is empty"


def _raise_empty() -> None:
    raise queue.Empty
