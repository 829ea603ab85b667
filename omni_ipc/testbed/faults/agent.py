"""Agents: what takes steps beside the tasks of a scenario, and is chosen as they are: faults, and time itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from omni_ipc.records import Field
from omni_ipc.testbed.operations import Operation, nothing
from omni_ipc.testbed.tasks import Task


class Budget:
    """How often a fault may still happen in a run.

    Attributes:
        bit: of the budget; what spends it conflicts with all else that would.
    """

    __slots__ = ("bit", "left")

    def __init__(self, left: int, bit: int) -> None:
        self.left = left
        self.bit = bit


class Agent(Task):
    """One thing that may happen; its step is taken in no greenlet of its own, and ends at once.

    Args:
        name: in traces; no other living task has it.
        action: in traces: "fault.kill(worker)".
        possible: tells whether it can happen now.
        act: lets it happen, and notes in the kernel what it reads and writes.
    """

    __slots__ = ("act",)

    def __init__(
        self,
        name: str,
        index: int,
        key: int,
        *,
        action: str,
        possible: Callable[[], bool],
        act: Callable[[], object],
        fields: Mapping[str, Field] | None = None,
    ) -> None:
        super().__init__(name, index, key, nothing, ())
        self.pending = Operation(action, None, nothing, extra=fields)
        self.ready = possible
        self.act = act

    def call(self, name: str, action: str) -> None:
        """Give it another name, and its step another action, from now on."""
        assert self.pending is not None
        self.name, self.pending.action = name, action
