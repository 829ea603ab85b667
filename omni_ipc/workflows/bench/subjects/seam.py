"""What the seam costs: a region with its lock, against the bare lock."""

from __future__ import annotations

from omni_ipc.seam.native import NativeRuntime
from omni_ipc.workflows.bench.subject import Case, Work

_OPERATIONS = 1000


class Seam:
    """Entering and leaving, over and over."""

    operations = _OPERATIONS

    def __init__(self, case: Case) -> None:
        self._rt = NativeRuntime()
        self._lock = self._rt.lock()
        self._regions_too = case.work is Work.REGION

    def once(self) -> None:
        if self._regions_too:
            self._regions()
        else:
            self._locks()

    def close(self) -> None:
        return

    def _regions(self) -> None:
        rt, lock = self._rt, self._lock
        for number in range(_OPERATIONS):
            with rt.region("Pump.Deliver", lock, number=number):
                pass

    def _locks(self) -> None:
        lock = self._lock
        for _ in range(_OPERATIONS):
            with lock:
                pass
