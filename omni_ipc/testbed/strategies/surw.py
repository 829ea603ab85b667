"""A walk that is uniform over the orders of a few steps that matter: SURW.

In each run some steps are *selected*: those that touch one shared object, drawn anew, or any of them. Of all tasks with
selected steps left, one is drawn with a chance in proportion to how many, and the others stop before theirs until it
has taken its next one; steps that are not selected are left to a random walk. So each order of the selected steps is
about as likely as the others, however many steps lie between them.

Source: H. Zhao, D. Wolff, U. Mathur, A. Roychoudhury, "Selectively Uniform Concurrency Testing", ASPLOS 2025,
algorithm 2.
"""

from __future__ import annotations

from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.strategies.profile import Profile, Remaining
from omni_ipc.testbed.strategies.profiled import Profiled
from omni_ipc.testbed.strategies.uniform import weighted
from omni_ipc.testbed.tasks import Task


class SelectivelyUniformWalk(Profiled):
    """Draws the order of the selected steps, and leaves the others to chance."""

    title = "SURW"

    def __init__(self, seed: int, profile: Profile | None = None) -> None:
        super().__init__(seed, profile)
        self._selections: dict[int, Remaining] = {}  # by the objects that they are about
        self._selected = 0
        self._remaining = Remaining({})
        self._intended: Task | None = None

    def _begin(self) -> None:
        shared = self.profile.shared
        draw = int(self._random() * 2 * len(shared))
        self._selected = shared[draw] if draw < len(shared) else sum(shared)
        if self._selected not in self._selections:
            self._selections[self._selected] = Remaining(self.profile.counts(self._selected))
        self._remaining = self._selections[self._selected]
        self._remaining.begin()
        self._intended = None

    def _sample(self, kernel: Kernel, enabled: list[Task]) -> Task:
        left = self._remaining.meet(kernel)
        intended = self._intended
        if intended is None or intended.ended:
            living = kernel.living or enabled
            intended = self._intended = weighted(self._random(), living, [left[task.index] for task in living])
        touches, selected = self.profile.touches, self._selected
        free = [task for task in enabled if task is intended or not touches(task) & selected]
        if not free:  # the intended one waits for others that stop
            intended = self._intended = weighted(self._random(), enabled, [left[task.index] for task in enabled])
            free = [intended]
        chosen = free[int(self._random() * len(free))]
        if chosen is intended and touches(chosen) & selected:
            left[chosen.index] = max(left[chosen.index] - 1, 0)
            self._intended = None
        return chosen
