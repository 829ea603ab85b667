"""``threading.Event`` under control."""

from __future__ import annotations

import threading

from omni_ipc.testbed.identity import CLEARED_EVENTS
from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.objects.base import Controlled
from omni_ipc.testbed.objects.sleeper import Sleeper
from omni_ipc.testbed.objects.state import own
from omni_ipc.testbed.operations import Operation, Reading


class ControlledEvent(threading.Event, Controlled):
    """A flag that tasks can wait for.

    A wait is one step. Where events are cleared that is not all: who sleeps is woken by an event that is set for a
    moment, and who comes later is not; so there a wait that sleeps is two steps.
    """

    kind = "event"
    _flag = own("_flag", "_is_up")

    def __init__(self, kernel: Kernel) -> None:
        Controlled.__init__(self, kernel)
        self._is_up = False
        self._sleepers: list[Sleeper] = []

    def is_set(self) -> bool:
        return bool(self.kernel.perform(Reading("event.is_set", self, self._get)))

    def set(self) -> None:
        self.kernel.perform(Operation("event.set", self, self._set))

    def clear(self) -> None:
        self.kernel.perform(Operation("event.clear", self, self._clear))

    def wait(self, timeout: float | None = None) -> bool:
        kernel = self.kernel
        if CLEARED_EVENTS not in kernel.identities.distinctions:
            return bool(kernel.perform_within(Reading("event.wait", self, self._get, self._get, self._get), timeout))
        if timeout is not None and timeout <= 0:
            return bool(kernel.perform(Reading("event.wait", self, self._get)))
        sleeper: Sleeper | None = kernel.perform(Reading("event.wait", self, self._join))
        if sleeper is None:
            return True
        wake = Reading("event.wake", self, _true, sleeper.is_woken, lambda: self._expire(sleeper))
        return bool(kernel.perform_within(wake, timeout))

    def _get(self) -> bool:
        return self._is_up

    def _set(self) -> None:
        self._is_up = True
        for sleeper in self._sleepers:
            sleeper.woken = True
        self._sleepers.clear()

    def _clear(self) -> None:
        self._is_up = False
        self.kernel.identities.meet(CLEARED_EVENTS)

    def _join(self) -> Sleeper | None:
        if self._is_up:
            return None
        sleeper = Sleeper()
        self._sleepers.append(sleeper)
        return sleeper

    def _expire(self, sleeper: Sleeper) -> bool:
        if not sleeper.woken:
            self._sleepers.remove(sleeper)
        return sleeper.woken

    def __repr__(self) -> str:
        return Controlled.__repr__(self)

    def shown(self) -> str:
        return "set" if self._is_up else "clear"

    def blocked_on(self) -> str:
        return f"{self.name} to be set"


def _true() -> bool:
    return True
