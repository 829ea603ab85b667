"""A device that comes to what it computed when a test lets it, or fails at it."""

from __future__ import annotations

import threading
from typing import Any

from omni_ipc.device.api import DeviceEvent
from omni_ipc.device.host import HostDevice


class HeldEvent:
    """Reached once the device is let go."""

    def __init__(self, gate: threading.Event) -> None:
        self._gate = gate

    def query(self) -> bool:
        return self._gate.is_set()

    def synchronize(self) -> None:
        self._gate.wait()


class HeldDevice(HostDevice):
    """Holds back all that was issued to it, until `let_go`."""

    def __init__(self) -> None:
        self._gate = threading.Event()

    def record(self) -> DeviceEvent:
        return HeldEvent(self._gate)

    def let_go(self) -> None:
        """Come to everything, now and later."""
        self._gate.set()


class FailingEvent:
    """Tells of an error of the device to whoever waits for it."""

    def __init__(self, error: BaseException) -> None:
        self._error = error

    def query(self) -> bool:
        return True

    def synchronize(self) -> None:
        raise self._error


class FailingDevice(HostDevice):
    """Fails at what was issued to it, and tells by its events.

    Args:
        times: of its failures; it recovers after them.
    """

    def __init__(self, error: BaseException, times: int = 1) -> None:
        self._error = error
        self._left = times

    def record(self) -> Any:
        if self._left == 0:
            return super().record()
        self._left -= 1
        return FailingEvent(self._error)
