"""Partial-order reduction among the schedules that take the turn from a task which could go on a few times at most.

A race that would need one more such preemption is turned round where its first task got its turn, too: there it costs
none. No task sleeps, because what was explored in its stead may have been cut off by the bound.

Source: K. Coons, M. Musuvathi, K. McKinley, "Bounded Partial-Order Reduction", OOPSLA 2013.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from omni_ipc.testbed.strategies.base import Run
from omni_ipc.testbed.strategies.depth_first import schedules
from omni_ipc.testbed.strategies.source_dpor import SourceDpor


class PreemptionBounded(SourceDpor):
    """Explores the orders of conflicting steps that so many preemptions can lead to."""

    distinct = False
    _kept = (*SourceDpor._kept, "cut", "_spent")

    def __init__(self, preemptions: int) -> None:
        super().__init__()
        self.name = f"preemption-bounded dpor ({preemptions})"
        self._preemptions = preemptions
        self._spent: list[int] = []  # preemptions before each step

    def next_prefix(self) -> Sequence[int] | None:
        prefix = super().next_prefix()
        if self._sleep:
            self._sleep[-1].clear()
        return prefix

    def _take(self, run: Run, step: int) -> None:
        del self._spent[step:]
        self._spent.append(self._spent[-1] + self._costs(run, step - 1, 1 << run.order[step - 1]) if step else 0)
        super()._take(run, step)

    def _let_go(self, run: Run, step: int, tasks: int) -> None:
        affordable = self._affordable(run, step, tasks)
        self._todo[step] |= affordable
        self.cut |= affordable != tasks
        for bit in _bits(tasks):
            if self._costs(run, step, bit):
                self._let_go_before_turn(run, step, bit)

    def _let_go_before_turn(self, run: Run, step: int, bit: int) -> None:
        """Let a task go where the one that took a step got its turn."""
        first = step
        while first and run.order[first - 1] == run.order[step]:
            first -= 1
        if first < step:
            able = self._enabled[first]
            self._todo[first] |= self._affordable(run, first, (bit if able & bit else able) & ~self._taken[first])

    def _affordable(self, run: Run, step: int, tasks: int) -> int:
        """Return those of the tasks that can be let go within the bound."""
        left = self._preemptions - self._spent[step]
        return sum(bit for bit in _bits(tasks) if self._costs(run, step, bit) <= left)

    def _costs(self, run: Run, step: int, task: int) -> bool:
        """Tell whether it is a preemption to let a task take a step."""
        last = 1 << run.order[step - 1] if step else 0
        return bool(self._enabled[step] & last and task != last)

    def claim(self, runs: int, whole: int, *, ended: bool, cut: bool) -> str:
        if ended and not cut:
            return f"all orders of conflicting steps, in {schedules(whole, ended=False)}"
        preemptions = "1 preemption" if self._preemptions == 1 else f"{self._preemptions} preemptions"
        return f"{schedules(whole, ended=ended)} of at most {preemptions}"


def _bits(mask: int) -> Iterator[int]:
    while mask:
        bit = mask & -mask
        mask ^= bit
        yield bit
