"""What an exploration is about, and what may be spent on it."""

from __future__ import annotations

import dataclasses

from omni_ipc.explanations import in_words
from omni_ipc.records import MemoryOrder
from omni_ipc.testbed.tally import Tally


@dataclasses.dataclass(frozen=True, slots=True)
class Subject:
    """What is explored, in words.

    Args:
        defect: that the scenario was given.
        faults: that may happen in it.
    """

    scenario: str
    defect: str | None = None
    memory: MemoryOrder = MemoryOrder.SC
    faults: tuple[str, ...] = ()

    def under(self) -> str:
        """Say what world it is explored in, unless it is the plain one."""
        memory = f" under {self.memory.in_words}" if self.memory is not MemoryOrder.SC else ""
        return memory + (f" with {in_words(self.faults)}" if self.faults else "")


@dataclasses.dataclass(frozen=True, slots=True)
class Budget:
    """What may be spent: so many schedules in all, so many seconds of this process; None is no limit."""

    runs: int | None = None
    seconds: float | None = None

    def is_spent(self, tally: Tally) -> bool:
        """Tell whether nothing is left; at least one schedule is always run."""
        if self.runs is not None and tally.schedules >= self.runs:
            return True
        return self.seconds is not None and tally.schedules > 0 and tally.elapsed_s >= self.seconds

    def told(self, tally: Tally) -> str:
        """Say which limit was met."""
        if self.runs is not None and tally.schedules >= self.runs:
            return f"runs was {self.runs:,}"
        return f"seconds was {self.seconds:g}" if self.seconds is not None else ""
