"""Faults that the code under test asks for by name: ``if rt.fault("memory full"): raise MemoryError``."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable

from omni_ipc.testbed.faults.kernel import FaultingKernel, written
from omni_ipc.testbed.operations import Operation
from omni_ipc.testbed.tasks import Task


@dataclasses.dataclass(frozen=True, slots=True)
class Hook:
    """Lets ``rt.fault(name)`` be true, ``at_most`` so many times in a run."""

    name: str
    at_most: int = 1

    def __str__(self) -> str:
        return written("hook", self.name, self.at_most)

    def arm(self, kernel: FaultingKernel) -> None:
        budget = kernel.budget(("hook", self.name), self.at_most)
        kernel.hooks.add(self.name)

        def asks(task: Task) -> bool:
            asking = task.pending
            if not isinstance(asking, Asking) or asking.name != self.name:
                return False
            kernel.met.add(str(self))
            return not (task.ended or asking.happens)

        def strike(task: Task) -> None:
            assert isinstance(task.pending, Asking)
            task.pending.happens = True
            kernel.writes |= task.pending.reads

        kernel.add_fault_of_each_task(self.name, possible=asks, act=strike, budget=budget)


class Asking(Operation):
    """A place at which a fault may happen.

    Args:
        name: of the fault.
        bit: of what the current task asks for.
    """

    __slots__ = ("happens", "name")

    def __init__(self, name: str, bit: int) -> None:
        super().__init__("fault.ask", None, self._answer, extra={"fault": name})
        self.name = name
        self.happens = False
        self.reads = bit

    def _answer(self) -> bool:
        return self.happens


def ask(kernel: FaultingKernel, name: str) -> bool:
    """Ask, as the current task, whether a fault happens here; a point if it may."""
    if name not in kernel.hooks:
        return False
    key: Hashable = ("asking", kernel.current.key)
    return bool(kernel.perform(Asking(name, kernel.identities[key])))
