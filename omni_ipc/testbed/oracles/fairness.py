"""Runs that do not end: followed fairly for a while, to find out whether they ever would.

A schedule may run in circles only because it never lets the one go on who would end it; that is no fault of the code.
So when a long run comes back to a state, and from `max_steps` on at the latest, whoever has waited longest goes first.
A state that comes back then, with everybody served who could go on in between, comes back for ever: a livelock. A run
that ends is as good as any other, but what else could have come of it after so many steps is left out; and a run that
does neither is cut off. Both are told.

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

FIRST_LOOK = 1_000
"""Steps after which a run is looked at for the first time; then after twice as many, and so on."""
MOST_FAIR_STEPS = 2_000
_ROUND = 1_000  # so that runs that did not end are told in one sentence
_WINDOW = 40  # steps that a look takes
_EACH = 50  # looks at each state before some are left out


class Recurrence:
    """Looks for a state that comes back: it compares each with one behind, which it renews in ever longer intervals.

    Attributes:
        is_renewed: whether the state that was looked at last is the one to compare with from now on.
    """

    def __init__(self) -> None:
        self.is_renewed = False
        self._anchor: State | None = None
        self._asked = self._next = 0
        self._looks = 0
        self._renew_at = 1

    def is_met(self, kernel: Kernel) -> bool:
        """Look at the state of a run, the rarer the longer it takes, and tell whether the run has been there before."""
        self.is_renewed = False
        self._asked += 1
        if self._asked < self._next:
            return False
        self._next = self._asked + self._asked // _EACH
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


class Suspicion:
    """Looks on for a while, whether a run goes round in circles, and leaves the choice to the strategy meanwhile."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._enabled = kernel.enabled
        self._recurrence = Recurrence()
        kernel.enabled = self.enabled  # type: ignore[method-assign]
        kernel.limit = kernel.depth + _WINDOW

    def enabled(self) -> list[Task]:
        """Return all tasks that can go on, or the one whose turn it is as soon as a state has come back."""
        if not self._recurrence.is_met(self._kernel):
            return self._enabled()
        _follow_fairly(self._kernel, self._enabled, "schedules that go round in circles were followed in one way only")
        return self._kernel.enabled()

    def drop(self) -> None:
        """Let the run go on as before, for as long again."""
        kernel = self._kernel
        kernel.enabled = self._enabled  # type: ignore[method-assign]
        kernel.limit = min(kernel.max_steps, 2 * kernel.depth)


def look_closer(kernel: Kernel) -> None:
    """Decide what becomes of a run that has reached its limit, which may be one for a closer look only."""
    stage = getattr(kernel.enabled, "__self__", None)
    if isinstance(stage, Fairness):
        steps = kernel.limit - kernel.limit % _ROUND if kernel.limit > _ROUND else kernel.limit
        kernel.curtailed.add(f"some schedules did not end within {steps:,} steps")
        kernel.pruned = True
        kernel.end()
    elif kernel.depth >= kernel.max_steps:
        bound = f"schedules of over {kernel.max_steps:,} steps (max_steps) were followed in one way only"
        _follow_fairly(kernel, stage._enabled if isinstance(stage, Suspicion) else kernel.enabled, bound)
    elif isinstance(stage, Suspicion):
        stage.drop()
    else:
        Suspicion(kernel)


def _follow_fairly(kernel: Kernel, enabled: Callable[[], list[Task]], bound: str) -> None:
    kernel.curtailed.add(bound)
    kernel.limit = kernel.depth + min(kernel.max_steps, MOST_FAIR_STEPS)
    kernel.enabled = Fairness(kernel, enabled).enabled  # type: ignore[method-assign]
