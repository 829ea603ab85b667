"""``threading.Event`` under control."""

from __future__ import annotations

import threading

from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.objects.base import Controlled
from omni_ipc.testbed.operations import Operation, Reading


class ControlledEvent(threading.Event, Controlled):
    """A flag that tasks can wait for."""

    kind = "event"

    def __init__(self, kernel: Kernel) -> None:
        Controlled.__init__(self, kernel)
        self._flag = False

    def is_set(self) -> bool:
        return bool(self.kernel.perform(Reading("event.is_set", self, self._get)))

    def set(self) -> None:
        self.kernel.perform(Operation("event.set", self, self._set))

    def clear(self) -> None:
        self.kernel.perform(Operation("event.clear", self, self._clear))

    def wait(self, timeout: float | None = None) -> bool:
        return bool(self.kernel.perform_within(Reading("event.wait", self, self._get, self._get, self._get), timeout))

    def _get(self) -> bool:
        return self._flag

    def _set(self) -> None:
        self._flag = True

    def _clear(self) -> None:
        self._flag = False

    def __repr__(self) -> str:
        return Controlled.__repr__(self)

    def shown(self) -> str:
        return "set" if self._flag else "clear"

    def blocked_on(self) -> str:
        return f"{self.name} to be set"
