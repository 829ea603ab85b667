"""Timers that fire before their time: each wait with a time limit races with what it waits for.

In virtual time a deadline passes only when nobody can go on, as if computing took no time at all. Here time may also
pass, up to the next deadline, while others could go on, as if they took long: each of their steps may come before or
after it. Time never goes back, and no deadline is passed over. So that loops with a timeout end, time passes early so
many times in a run at most; where that leaves something out, the exploration is bounded, and says so.
"""

from __future__ import annotations

import dataclasses

from omni_ipc.testbed.faults.kernel import FaultingKernel


@dataclasses.dataclass(frozen=True, slots=True)
class EarlyTimers:
    """Lets time pass while somebody can go on, ``at_most`` so many times in a run."""

    at_most: int = 2

    def __str__(self) -> str:
        return f"timers,{self.at_most}"

    def arm(self, kernel: FaultingKernel) -> None:
        kernel.let_time_pass_early(self.at_most)
