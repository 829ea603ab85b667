"""Depth-first search by re-execution: all schedules, or one of each set that differ only in what cannot matter.

When the steps of a task from some state have been explored, the task sleeps in the branches of its siblings until a
step is taken that conflicts with its own: both orders would lead to the same state. A step's conflicts are those that
were recorded when it was executed, so nothing needs to be known in advance. A run in which all who can go on sleep is
cut short.

Source: sleep sets after P. Godefroid, "Partial-Order Methods for the Verification of Concurrent Systems", 1996, ch. 5.
"""

from __future__ import annotations

from collections.abc import Sequence

from omni_ipc.testbed.failures import unrepeatable
from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.strategies.base import Run
from omni_ipc.testbed.strategies.default import default_choice
from omni_ipc.testbed.tasks import Task

Slept = tuple[int, int, int]
"""A task that sleeps: its index, and what its next step reads and writes."""


class DepthFirst:
    """Explores one child of each node after the other.

    Args:
        reduce: leave out schedules that only swap steps which do not conflict.
    """

    exhaustive = True

    def __init__(self, *, reduce: bool) -> None:
        self.name = "depth-first" if reduce else "brute-force"
        self.distinct = reduce  # runs that were not cut short differ in the order of conflicting steps
        self._reduce = reduce
        self._todo: list[list[int]] = []  # for each depth: tasks not yet taken there
        self._sleep: list[list[Slept]] = []  # for each depth: tasks that sleep there
        self._last: Run | None = None
        self._prefix: Sequence[int] = ()

    def next_prefix(self) -> Sequence[int] | None:
        """Return the tasks that take the first steps of the next run, or None when all is explored."""
        run = self._last
        if run is None:
            return ()
        while self._todo:
            depth = len(self._todo) - 1
            if self._reduce and self._todo[depth]:
                self._sleep[depth].append((run.order[depth], run.reads[depth + 1], run.writes[depth + 1]))
            if self._todo[depth]:
                self._prefix = (*run.order[:depth], self._todo[depth].pop())
                return self._prefix
            self._todo.pop()
            self._sleep.pop()
        return None

    def choose(self, kernel: Kernel, enabled: list[Task]) -> Task | None:
        sleep = still_asleep(self._sleep[-1], kernel) if self._sleep else []
        if sleep:
            asleep = {index for index, _, _ in sleep}
            enabled = [task for task in enabled if task.index not in asleep]
            if not enabled:
                return None
        chosen = default_choice(kernel, enabled)
        self._todo.append([task.index for task in reversed(enabled) if task is not chosen] if len(enabled) > 1 else [])
        self._sleep.append(sleep)
        return chosen

    def learn(self, run: Run) -> None:
        """Take note of a run.

        Raises:
            Inconclusive: its first steps were not what they were in the run before.
        """
        before, shared = self._last, len(self._prefix)
        if before is not None and (
            run.reads[:shared] != before.reads[:shared] or run.writes[:shared] != before.writes[:shared]
        ):
            raise unrepeatable(f"the first {shared} steps, run again in the same order, used other objects")
        self._last = run


def still_asleep(sleep: list[Slept], kernel: Kernel) -> list[Slept]:
    """Return who still sleeps after the last step: those whose next step does not conflict with it."""
    if not sleep:
        return []
    reads, writes = kernel.read_log[-1], kernel.write_log[-1]
    return [slept for slept in sleep if not (slept[2] & (reads | writes)) and not (slept[1] & writes)]
