"""A process that is killed: all its tasks end at once, at any of their steps, and clean nothing up.

Their locks stay locked, what they had written in part stays so, and no `finally` of theirs runs while anybody can see
it. Joins of them return, and their process is seen to have ended.
"""

from __future__ import annotations

import dataclasses

from omni_ipc.errors import UsageError
from omni_ipc.testbed.faults.kernel import FaultingKernel, written
from omni_ipc.testbed.tasks import Group, Task


@dataclasses.dataclass(frozen=True, slots=True)
class Kill:
    """Kills a process of the scenario.

    Args:
        process: name of an ``rt.process``; or of a task, which then stands for a process, together with the tasks whose
            names begin with it and a dot, and with those that they start.
        at_most: how many times in a run, if it is started anew.
    """

    process: str
    at_most: int = 1

    def __post_init__(self) -> None:
        if self.process in ("", "main"):
            raise UsageError(
                f"kill:{self.process} would kill the scenario itself. Name a process, or a task that plays one: "
                "kill:worker."
            )

    def __str__(self) -> str:
        return written("kill", self.process, self.at_most)

    def arm(self, kernel: FaultingKernel) -> None:
        group = kernel.group(self.process)
        budget = kernel.budget(("kill", self.process), self.at_most)
        first = True

        def adopt(task: Task) -> None:
            nonlocal first
            if task.group is None and (task.name == group.name or task.name.startswith(f"{group.name}.")):
                group.add(task)
            if task.group is not group:
                return
            kernel.met.add(str(self))
            task.life = group.bit
            if first:
                first = False
                kernel.add_fault(
                    f"kill({group.name})",
                    action=f"fault.kill({group.name})",
                    possible=lambda: not all(member.ended for member in group.tasks),
                    act=lambda: kill(kernel, group),
                    budget=budget,
                )
            kernel.add_fault(
                f"tear({task.name})",
                action=f"fault.kill({group.name})",
                possible=lambda: not task.ended and hasattr(task.pending, "tear"),
                act=lambda: tear(kernel, task, group),
                budget=budget,
                fields={"in the middle of": "words.write"},
                key=task.key,
            )

        kernel.on_launch.append(adopt)


def tear(kernel: FaultingKernel, task: Task, group: Group) -> None:
    """End all tasks of a group in the middle of a write of one of them."""
    assert task.pending is not None
    kernel.writes |= task.pending.writes
    task.pending.tear()  # type: ignore[attr-defined]
    kill(kernel, group)


def kill(kernel: FaultingKernel, group: Group) -> None:
    """End all tasks of a group, as they are."""
    group.killed = True
    kernel.writes |= group.bit
    for task in group.tasks:
        if not task.ended:
            kernel.kill(task)
