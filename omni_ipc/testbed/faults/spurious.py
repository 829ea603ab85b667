"""Wake-ups without a reason: who waits for a notification goes on though nobody has notified it.

POSIX allows it, `rt.words.wait` does, and CPython's own conditions happen not to do it; what looks at its state anew
after each wait, as it must where several wait for one notification, never notices.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from omni_ipc.testbed.faults.kernel import FaultingKernel, written
from omni_ipc.testbed.tasks import Task


@dataclasses.dataclass(frozen=True, slots=True)
class SpuriousWakeup:
    """Wakes a task that waits on a condition, or on a word, ``at_most`` so many times in a run."""

    at_most: int = 1

    def __str__(self) -> str:
        return written("spurious", "", self.at_most)

    def arm(self, kernel: FaultingKernel) -> None:
        budget = kernel.budget("spurious", self.at_most)

        def could_wake(task: Task) -> bool:
            asleep: Callable[[], bool] | None = getattr(task.pending, "asleep", None)
            if asleep is None or task.ended or not asleep() or task.ready():
                return False
            kernel.met.add(str(self))
            return True

        def wake(task: Task) -> None:
            assert task.pending is not None
            kernel.writes |= task.pending.writes | task.pending.reads
            task.pending.rouse()  # type: ignore[attr-defined]

        kernel.add_fault_of_each_task("wake", possible=could_wake, act=wake, budget=budget)
