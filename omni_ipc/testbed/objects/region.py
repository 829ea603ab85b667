"""Regions: atomic steps with the names of spec actions."""

from __future__ import annotations

from types import TracebackType

from omni_ipc.records import Field
from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.objects.lock import ControlledLock
from omni_ipc.testbed.operations import Operation, Owning


class ControlledRegion:
    """One point at the entrance, which opens when the lock is free; none inside, and none at the exit.

    An operation inside that cannot go on blocks as usual: there, others run. Where stores are buffered, those of a
    region are not seen at its end but later, one by one; its lock, if it has one, is a fence at the entrance and at the
    exit.
    """

    __slots__ = ("_action", "_fields", "_kernel", "_lock")

    def __init__(self, kernel: Kernel, action: str, lock: ControlledLock | None, fields: dict[str, Field]) -> None:
        self._kernel = kernel
        self._action = action
        self._lock = lock
        self._fields = fields

    def __enter__(self) -> bool:
        return bool(self._kernel.perform(self._entrance()))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        kernel = self._kernel
        kernel.current.atomic -= 1
        if self._lock is not None and not kernel.over:
            kernel.fence()
            kernel.writes |= self._lock.bit
            self._lock.give()

    def _entrance(self) -> Operation:
        if self._lock is None:
            return Entrance(self._action, None, self._enter, extra=self._fields)
        return Entrance(self._action, self._lock, self._enter, self._lock.chance(), extra=self._fields)

    def _enter(self) -> bool:
        self._kernel.current.atomic += 1
        return self._lock is None or self._lock.enter()


class Entrance(Owning):
    """Entering a region; its fields are those of the region, whatever its lock is called."""

    __slots__ = ()

    @property
    def fences(self) -> bool:
        return self.subject is not None

    def fields(self) -> dict[str, Field]:
        return dict(self.extra or {})
