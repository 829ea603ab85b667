"""What is known of a scenario from its first run: how many steps each task takes, and what tasks share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.strategies.base import Run
from omni_ipc.testbed.strategies.default import default_choice
from omni_ipc.testbed.tasks import Task


class Profile:
    """What runs in the default order have shown.

    Attributes:
        steps: by the key of a task, what each of its steps touched, children's steps not counted.
        family: by the key of a task, its children.
        shared: objects but tasks that more than one task touches, and at least one changes, a bit each.
        length: steps of the longest run.
    """

    def __init__(self) -> None:
        self.steps: dict[int, list[int]] = {}
        self.family: dict[int, list[int]] = {}
        self.shared: list[int] = []
        self.length = 0
        self._actions: list[str] = []
        self._lives = 0  # bits of tasks: their ends are ordered with who waits for them
        self._touched: dict[str, int] = {}  # by what a step began with, all that such steps touched

    @property
    def is_empty(self) -> bool:
        return not self.length

    def choose(self, kernel: Kernel, enabled: list[Task]) -> Task:
        """Choose in the default order, for a run to learn from."""
        if not kernel.depth:
            self._actions.clear()
        chosen = default_choice(kernel, enabled)
        assert chosen.pending is not None
        self._actions.append(chosen.pending.action)
        self._lives |= chosen.bit
        return chosen

    def learn(self, run: Run) -> None:
        """Take note of a run that this has chosen."""
        self.length = max(self.length, len(run.order))
        users: dict[int, set[int]] = {}
        changed = 0
        steps: dict[int, list[int]] = {key: [] for key in run.keys}
        for index, action, reads, writes in zip(run.order, self._actions, run.reads[1:], run.writes[1:], strict=False):
            touched = reads | writes
            changed |= writes
            steps[run.keys[index]].append(touched)
            self._touched[action] = self._touched.get(action, 0) | touched
            while touched:
                bit = touched & -touched
                touched ^= bit
                users.setdefault(bit, set()).add(index)
        self.steps |= steps
        changed &= ~self._lives
        self.shared = [bit for bit, tasks in users.items() if len(tasks) > 1 and bit & changed]
        for index, birth in run.births.items():
            if birth >= 0:
                parent = run.keys[run.order[birth]]
                self.family.setdefault(parent, []).append(run.keys[index])

    def touches(self, task: Task) -> int:
        """Return what the next step of a task will touch, as far as can be told."""
        operation = task.pending
        assert operation is not None
        return operation.reads | operation.writes or self._touched.get(operation.action, 0)

    def counts(self, selected: int | None = None) -> Counter[int]:
        """Count, by the key of a task, its steps and those of all that it starts.

        Args:
            selected: count only steps that touch one of these objects.
        """
        total: Counter[int] = Counter()
        for key, steps in self.steps.items():
            total[key] = len(steps) if selected is None else sum(1 for touched in steps if touched & selected)
        for key in reversed(self.steps):  # children stand behind their parents
            total[key] += sum(total[child] for child in self.family.get(key, ()))
        return total

    def state(self) -> dict[str, Any]:
        return dict(vars(self))

    def restore(self, state: Mapping[str, Any]) -> None:
        vars(self).update(state)


class Remaining:
    """How many of the counted steps each task, and all that it will start, still has to take in a run."""

    def __init__(self, counts: Mapping[int, int]) -> None:
        self._counts = counts
        self._of: list[int] = []  # by index of a task

    def begin(self) -> None:
        """Prepare for a run."""
        self._of.clear()

    def meet(self, kernel: Kernel) -> list[int]:
        """Take note of tasks that began, whose steps are no more their parents', and return the counts by index."""
        of, tasks = self._of, kernel.tasks
        while len(of) < len(tasks):
            task = tasks[len(of)]
            count = self._counts.get(task.key, 0)
            birth = kernel.births.get(task.index, -1)
            if birth >= 0:
                parent = kernel.order[birth]
                of[parent] = max(of[parent] - count, 0)
            of.append(count)
        return of
