"""``threading.Event`` under control."""

from __future__ import annotations

from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.objects.base import Controlled
from omni_ipc.testbed.operations import Operation, Reading


class ControlledEvent(Controlled):
    """A flag that tasks can wait for."""

    __slots__ = ("_flag",)

    kind = "event"

    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel)
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

    def blocked_on(self) -> str:
        return f"{self.name} to be set"
