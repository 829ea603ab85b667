"""What a strategy is, and what it learns from a run."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Protocol

from omni_ipc.records import Failure, Step
from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.tasks import Task


@dataclasses.dataclass(frozen=True, slots=True)
class Run:
    """One run of a scenario, over.

    Args:
        order: index of the task that took step k.
        keys: identity of each task by index; the same in every schedule, as the index is not.
        reads, writes: bits of the objects that were touched; item 0 before the first step, item k + 1 in step k.
        value: what the scenario returned.
        pruned: whether the strategy cut it short.
        quiet_since: the number of steps after which only timers fired, if that is how it ended, else all.
        births: by index of a task, the step in which it began; -1 is before the first one.
        jumps: numbers of steps that had been taken when time passed.
        waiting: operations that were announced and not performed: the task's index, what they read and write.
        curtailed: bounds that left out some of its continuations, in words.
        steps: the same as ``order`` in words, if the run was recorded.
    """

    order: list[int]
    keys: list[int]
    reads: list[int]
    writes: list[int]
    value: object
    failure: Failure | None
    pruned: bool
    quiet_since: int
    steps: tuple[Step, ...] = ()
    curtailed: frozenset[str] = frozenset()
    births: dict[int, int] = dataclasses.field(default_factory=dict)
    jumps: list[int] = dataclasses.field(default_factory=list)
    waiting: list[tuple[int, int, int]] = dataclasses.field(default_factory=list)


class Strategy(Protocol):
    """Decides which schedules to run."""

    name: str
    exhaustive: bool  # whether it ends by itself, with all schedules that can matter
    distinct: bool  # whether no two of its whole runs order all conflicting steps in the same way

    def next_prefix(self) -> Sequence[int] | None:
        """Return the tasks that take the first steps of the next run, or None when there is nothing left to run."""

    def choose(self, kernel: Kernel, enabled: list[Task]) -> Task | None:
        """Choose who takes the next step, of the tasks that can, by index; None cuts the run short."""

    def learn(self, run: Run) -> None:
        """Take note of a run that has ended."""
