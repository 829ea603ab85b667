"""Runs that do not end: followed fairly for a while, to find out whether they ever would.

A schedule may run in circles only because it never lets the one go on who would end it; that is no fault of the code.
So from `max_steps` on, whoever has waited longest goes first. A state that comes back then, with everybody served who
could go on in between, comes back for ever: a livelock. A run that ends is as good as any other, but what else could
have come of it after so many steps is left out; and a run that does neither is cut off. Both are told.

Source: fairness in place of a proof of termination after M. Musuvathi, S. Qadeer, "Fair Stateless Model Checking",
PLDI 2008; the state that comes back after R. P. Brent, "An improved Monte Carlo factorization algorithm", BIT 1980.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from omni_ipc.testbed.failures import describe_livelock
from omni_ipc.testbed.oracles.states import State, take_state

if TYPE_CHECKING:
    from omni_ipc.testbed.kernel import Kernel
    from omni_ipc.testbed.tasks import Task

MOST_FAIR_STEPS = 2_000


class Recurrence:
    """Looks for a state that comes back: it compares each with one behind, which it renews in ever longer intervals.

    Attributes:
        is_renewed: whether the state that was looked at last is the one to compare with from now on.
    """

    def __init__(self) -> None:
        self.is_renewed = False
        self._anchor: State | None = None
        self._looks = 0
        self._renew_at = 1

    def is_met(self, kernel: Kernel) -> bool:
        """Look at the state of a run, and tell whether the run has been there before."""
        self.is_renewed = False
        state = take_state(kernel)
        if state is not None and self._anchor is not None and self._anchor.is_same(state):
            moved = kernel.order[self._anchor.depth : state.depth]
            if state.hidden.isdisjoint(moved):
                return True
        self._looks += 1
        self.is_renewed = self._looks >= self._renew_at
        if self.is_renewed:
            self._anchor = state
            self._looks = 0
            self._renew_at *= 2
        return False


class Fairness:
    """Takes the choice from the strategy, in a run that has become too long.

    Args:
        enabled: of the kernel, as it was before.
    """

    def __init__(self, kernel: Kernel, enabled: Callable[[], list[Task]]) -> None:
        self._kernel = kernel
        self._enabled = enabled
        self._served: dict[int, int] = {}  # by index, the step that the task took last
        self._recurrence = Recurrence()
        self._starving: set[int] = set()  # who could go on ever since the state that is compared with, and has not

    def enabled(self) -> list[Task]:
        """Return the one task whose turn it is."""
        kernel = self._kernel
        able = self._enabled()
        tasks = [task for task in able if task not in kernel.agents] or able[:1]  # of agents, time is the first one
        self._starving.intersection_update(task.index for task in tasks)
        if self._recurrence.is_met(kernel) and not self._starving:
            kernel.end(describe_livelock(kernel))
        if self._recurrence.is_renewed:
            self._starving = {task.index for task in tasks}
        chosen = min(tasks, key=lambda task: self._served.get(task.index, -1))
        self._served[chosen.index] = kernel.depth
        self._starving.discard(chosen.index)
        return [chosen]


def follow_fairly(kernel: Kernel) -> None:
    """Let a run that has reached its limit go on fairly, and end it the second time that it does."""
    if kernel.limit > kernel.max_steps:
        kernel.curtailed.add(f"some schedules did not end within {kernel.limit:,} steps")
        kernel.pruned = True
        kernel.end()
    kernel.curtailed.add(f"schedules of over {kernel.max_steps:,} steps (max_steps) were followed in one way only")
    kernel.limit += min(kernel.max_steps, MOST_FAIR_STEPS)
    kernel.enabled = Fairness(kernel, kernel.enabled).enabled  # type: ignore[method-assign]
