"""Regions: atomic steps with the names of spec actions."""

from __future__ import annotations

from types import TracebackType

from omni_ipc.records import Field
from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.objects.lock import ControlledLock
from omni_ipc.testbed.operations import Owning


class ControlledRegion:
    """One point at the entrance, which opens when the lock is free; none inside, and none at the exit.

    An operation inside that cannot go on blocks as usual: there, others run. Where stores are buffered, those of a
    region are not seen at its end but later, one by one; its lock, if it has one, is a fence at the entrance and at the
    exit.
    """

    __slots__ = ("_entrance", "_kernel", "_lock")

    def __init__(self, kernel: Kernel, action: str, lock: ControlledLock | None, fields: dict[str, Field]) -> None:
        self._kernel = kernel
        self._lock = lock
        self._entrance = Entrance(action, lock, kernel.begin_region, extra=fields)

    def __enter__(self) -> bool:
        entrance = self._entrance if self._lock is None else self._through(self._lock)
        return self._kernel.perform(entrance)  # type: ignore[no-any-return]

    def _through(self, lock: ControlledLock) -> Entrance:
        """Return the entrance that opens when the lock is free for the current task."""

        def enter() -> bool:
            return self._kernel.begin_region() and lock.enter()

        return Entrance(self._entrance.action, lock, enter, lock.chance(), extra=self._entrance.extra)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        kernel = self._kernel
        kernel.current.atomic -= 1
        if self._lock is not None and not kernel.over:
            kernel.fence()
            kernel.writes |= self._lock.bit
            self._lock.give()


class Entrance(Owning):
    """Entering a region; its fields are those of the region, whatever its lock is called."""

    __slots__ = ()

    @property
    def fences(self) -> bool:
        return self.subject is not None

    def fields(self) -> dict[str, Field]:
        return dict(self.extra or {})
