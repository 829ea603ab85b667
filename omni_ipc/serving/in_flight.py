"""The outputs that were computed and are not announced yet: as long as there are any, device memory must stay."""

from __future__ import annotations

from collections.abc import Sequence

from omni_ipc.errors import InternalError, Timeout
from omni_ipc.seam.api import Runtime
from omni_ipc.serving.messages import Execute


class StillInFlight(Timeout):
    """The device did not come to outputs in time, so their memory must stay as it is."""

    def __init__(self, what: str, jobs: Sequence[Execute], after_s: float, remedy: str) -> None:
        named = ", ".join(f"'{job.output}'" for job in jobs[:5]) + (", ..." if len(jobs) > 5 else "")
        super().__init__(f"{what}: {len(jobs)} outputs ({named}) were still in flight after {after_s:g} s. {remedy}")


class InFlight:
    """The pending counter of a worker, under a condition: counted up by its main loop, down by its output thread."""

    def __init__(self, *, rt: Runtime) -> None:
        self._rt = rt
        self._changed = rt.condition()
        self._jobs: list[Execute] = []  # guarded by _changed; in the order of their computation
        rt.watch(self, self._changed, name="InFlight")

    def add(self, job: Execute) -> None:
        """Count an output, before it is handed to the output thread.

        Spec: WorkerHandOver
        """
        with self._rt.region("Worker.HandOver", self._changed, output=job.output):
            self._jobs.append(job)

    def settle(self, job: Execute) -> None:
        """Count an output off, once nobody will read device memory for it any more.

        Raises:
            InternalError: it was not counted, or was counted off already.

        Spec: WorkerSettle
        """
        with self._rt.region("Worker.Settle", self._changed, output=job.output):
            if job not in self._jobs:
                raise InternalError(f"Output '{job.output}' is not in flight, and so cannot cease to be.")
            self._jobs.remove(job)
            self._changed.notify_all()

    def drain(self, timeout_s: float) -> tuple[Execute, ...]:
        """Wait until nothing is in flight, for so many seconds at most; returns what then still is.

        Nothing is added meanwhile: whoever computes is who drains.

        Spec: WorkerDrain
        """
        with self._changed:
            self._changed.wait_for(lambda: not self._jobs, timeout_s)
        with self._rt.region("Worker.Drain", self._changed):
            return tuple(self._jobs)

    def left(self) -> tuple[Execute, ...]:
        """Tell what is in flight."""
        with self._changed:
            return tuple(self._jobs)
