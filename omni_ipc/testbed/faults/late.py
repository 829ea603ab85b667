"""A message that comes late: a put returns, and the item is seen in the queue some steps later.

So do a `multiprocessing.Queue`, whose feeder thread writes later, and every network. What is put afterwards may
overtake it.
"""

from __future__ import annotations

import dataclasses

from omni_ipc.testbed.faults.kernel import FaultingKernel, written
from omni_ipc.testbed.operations import Operation, always, nothing
from omni_ipc.testbed.tasks import Task


@dataclasses.dataclass(frozen=True, slots=True)
class LateMessage:
    """Delays what is put into a queue.

    Args:
        target: name of the queue as traces tell it, "queue1"; empty for any.
        at_most: how many messages in a run.
    """

    target: str = ""
    at_most: int = 1

    def __str__(self) -> str:
        return written("late", self.target, self.at_most)

    def arm(self, kernel: FaultingKernel) -> None:
        budget = kernel.budget(("late", self.target), self.at_most)

        def puts(task: Task) -> bool:
            operation = task.pending
            if operation is None or not operation.action.endswith(".put") or not task.ready():
                return False
            if self.target not in ("", *operation.fields().values()):
                return False
            kernel.met.add(str(self))
            return operation.enabled()

        def take_over(task: Task) -> None:
            put = task.pending
            assert put is not None
            kernel.writes |= put.writes
            delivery = Operation(put.action, put.subject, put.execute, put.enabled)
            put.execute, put.enabled, task.ready = nothing, always, always
            kernel.launch_beside(f"message of {task.name}", lambda: kernel.perform(delivery), key=task.key)

        kernel.add_fault_of_each_task("late", possible=puts, act=take_over, budget=budget)
