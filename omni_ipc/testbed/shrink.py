"""Shrinks a failing schedule: fewer deviations from the default order, and fewer steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from omni_ipc.records import Failure, FailureKind
from omni_ipc.testbed.failures import shape
from omni_ipc.testbed.runner import Runner
from omni_ipc.testbed.strategies.base import Run
from omni_ipc.testbed.strategies.default import Deviating, Deviations, Sequenced

T = TypeVar("T")

_STEPS = 200_000  # to take at most, in all runs together
_RUNS_OF_A_LIVELOCK = 20  # each takes thousands of steps, of which a trace shows only the beginning
_DEVIATION = 4  # a deviation from the default order costs a reader as much as so many steps


def shrink_order(runner: Runner, order: Sequence[int], failure: Failure) -> list[int]:
    """Find a simpler schedule that fails in the same way.

    It drops deviations from the default order in chunks, then tries all schedules with one of them at most, and then
    drops steps in chunks. A run ends with its failure, so nothing comes after it.

    Args:
        order: the tasks, by index, that take the steps of the failing schedule.
        failure: what it fails with; kind and message, but for numbers, are kept.

    Returns:
        The tasks that take the steps of the simpler schedule; the same ones if there is none.
    """
    return _Shrinking(runner, order, failure).best.order


class _Shrinking:
    """The best schedule so far."""

    def __init__(self, runner: Runner, order: Sequence[int], failure: Failure) -> None:
        self._runner = runner
        self._shape = shape(failure)
        self._left = _STEPS if failure.kind is not FailureKind.LIVELOCK else _RUNS_OF_A_LIVELOCK * len(order)
        chooser = Sequenced(order)
        self.best: Run = runner.run(chooser)
        self.made = chooser.made
        if self._fails(self.best):
            _drop_chunks(lambda: sorted(self.made.items()), lambda items: self._accept(Deviations(dict(items))))
            self._try_few()
            _drop_chunks(lambda: self.best.order, lambda rest: self._accept(Sequenced(rest)))

    def _try_few(self) -> None:
        """Try the default order, and, where two or more deviations are left, each single one."""
        if self.made and not self._accept(Deviations({})) and len(self.made) > 1:
            tasks = sorted(set(self.best.order))
            steps = range(len(self.best.order))
            any(self._accept(Deviations({step: task})) for step in steps for task in tasks)

    def _accept(self, chooser: Deviating) -> bool:
        """Run, and keep the run if it fails in the same way and is simpler."""
        if self._left <= 0:
            return False
        run = self._runner.run(chooser)
        self._left -= len(run.order)
        if not self._fails(run) or _cost(run, chooser.made) >= _cost(self.best, self.made):
            return False
        self.best, self.made = run, chooser.made
        return True

    def _fails(self, run: Run) -> bool:
        return run.failure is not None and shape(run.failure) == self._shape


def _cost(run: Run, made: dict[int, int]) -> int:
    return len(run.order) + _DEVIATION * len(made)


def _drop_chunks(items: Callable[[], Sequence[T]], accept: Callable[[Sequence[T]], bool]) -> None:
    """Drop chunks, from halves down to single items, as long as what is left is accepted."""
    size = max(1, len(items()) // 2)
    while size > 0:
        while any(accept([*now[:k], *now[k + size :]]) for now in (items(),) for k in range(0, len(now), size)):
            pass
        size //= 2
