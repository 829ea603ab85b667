"""A task that lives as long as there is something to do."""

from __future__ import annotations

from collections.abc import Callable

from omni_ipc.seam.api import Runtime, Task


class Errand:
    """Started when there is something to do, ended when there is nothing; one at a time. Guarded by its user's lock.

    Args:
        work: calls `rest` when there is nothing to do, and then ends.
    """

    def __init__(self, rt: Runtime, name: str, work: Callable[[], object]) -> None:
        self._rt = rt
        self._name = name
        self._work = work
        self._busy = False
        self._task: Task | None = None

    def begin(self) -> None:
        """See that somebody does what there is to do."""
        if self._busy:
            return
        self._busy = True
        if self._task is not None:
            self._task.join()  # it has given the lock back, and ends; a name is one living task's
        self._task = self._rt.spawn(self._work, name=self._name)

    def rest(self) -> None:
        """Tell that there is nothing to do: the last thing that the work does under the lock."""
        self._busy = False
