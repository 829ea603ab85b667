"""Shrinks a failing schedule: fewer deviations from the default order, and fewer steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from omni_ipc.records import Failure
from omni_ipc.testbed.failures import shape
from omni_ipc.testbed.runner import Runner
from omni_ipc.testbed.strategies.default import Deviations

_ATTEMPTS = 2_000  # runs to spend at most


def shrink_order(runner: Runner, order: Sequence[int], failure: Failure, *, attempts: int = _ATTEMPTS) -> list[int]:
    """Find a simpler schedule that fails in the same way.

    It drops deviations from the default order in chunks, then one by one, and then looks for a schedule with none or
    one of them at all. A run ends with its failure, so nothing comes after it.

    Args:
        order: the tasks, by index, that take the steps of the failing schedule.
        failure: what it fails with; kind and message, but for numbers, are kept.
        attempts: runs to spend at most.

    Returns:
        The tasks that take the steps of the simpler schedule; the same ones if there is none.
    """
    return _Shrinking(runner, order, failure, attempts).best.order


class _Shrinking:
    """The best schedule so far."""

    def __init__(self, runner: Runner, order: Sequence[int], failure: Failure, attempts: int) -> None:
        self._runner = runner
        self._shape = shape(failure)
        self._left = attempts
        following = _Following(order)
        self.best = runner.run(following)
        self.made = following.made
        if self.best.failure is not None and shape(self.best.failure) == self._shape:
            self._drop_chunks()
            self._try_few()

    def _drop_chunks(self) -> None:
        size = max(1, len(self.made) // 2)
        while True:
            if not self._drop_one_chunk(size):
                if size == 1:
                    return
                size //= 2

    def _drop_one_chunk(self, size: int) -> bool:
        items = sorted(self.made.items())
        return any(self._accept(dict(items[:k] + items[k + size :])) for k in range(0, len(items), size))

    def _try_few(self) -> None:
        """Try the default order, and all schedules that deviate from it once."""
        if self.made and not self._accept({}) and len(self.made) > 1:
            tasks = sorted(set(self.best.order))
            steps = range(min(len(self.best.order), self._left // max(1, len(tasks))))
            any(self._accept({step: task}) for step in steps for task in tasks)

    def _accept(self, wanted: Mapping[int, int]) -> bool:
        """Run with these deviations, and keep the run if it fails in the same way and is simpler."""
        if self._left <= 0:
            return False
        self._left -= 1
        chooser = Deviations(wanted)
        run = self._runner.run(chooser)
        simpler = (len(chooser.made), len(run.order)) < (len(self.made), len(self.best.order))
        if run.failure is None or shape(run.failure) != self._shape or not simpler:
            return False
        self.best, self.made = run, chooser.made
        return True


class _Following(Deviations):
    """Takes the steps of a given order, and notes where they deviate from the default one."""

    def __init__(self, order: Sequence[int]) -> None:
        super().__init__(dict(enumerate(order)))
