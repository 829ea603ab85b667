"""The monitor: a task that looks after what cannot tell of its own end, such as a pump that is stuck."""

from __future__ import annotations

from collections.abc import Callable

from omni_ipc.seam.api import Runtime, Task


class Monitor:
    """Calls ``look`` again and again, until it is told to stop.

    Args:
        look: looks once; what it finds, it tells to whom it concerns.
        every_s: how long it rests in between.
    """

    def __init__(self, *, rt: Runtime, look: Callable[[], object], every_s: float) -> None:
        self._rt = rt
        self._look = look
        self._every_s = every_s
        self._over = rt.event()
        self._task: Task | None = None

    def start(self) -> None:
        """Begin to look."""
        self._task = self._rt.spawn(self._run, name="monitor")

    def stop(self, timeout_s: float) -> bool:
        """Look no more; tells whether the task has ended in time."""
        self._over.set()
        if self._task is None:
            return True
        self._task.join(timeout_s)
        return not self._task.is_alive()

    def _run(self) -> None:
        while not self._over.wait(self._every_s):
            self._look()
