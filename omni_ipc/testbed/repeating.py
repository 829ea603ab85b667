"""Holds an exploration to its first run: the same schedule, run again in the end, must do the same.

Whoever searches systematically sees only that the steps which two runs share are the same ones. What only the first run
did, and what grows from run to run behind the last shared step, is seen here; so it is where schedules are sampled.
"""

from __future__ import annotations

from omni_ipc.testbed.failures import unrepeatable
from omni_ipc.testbed.runner import Runner
from omni_ipc.testbed.strategies.base import Run
from omni_ipc.testbed.strategies.default import DefaultOrder


class Repetition:
    """The first whole run of a search, kept until it is run again."""

    def __init__(self) -> None:
        self._first: Run | None = None

    def take(self, run: Run) -> None:
        """Keep a run, if it is the first whole one."""
        if self._first is None and not run.pruned:
            self._first = run

    def forget(self) -> None:
        """Begin anew, because steps are told apart that were not before."""
        self._first = None

    def require_same(self, runner: Runner) -> None:
        """Run the first schedule again.

        Raises:
            Inconclusive: it is not the same any more.
        """
        if self._first is None:
            return
        first, again = self._first, runner.run(DefaultOrder(), self._first.order)
        if again.failure is not None:
            raise unrepeatable(f"the first schedule ended well, and run again in the end it failed: {again.failure}")
        if again.order != first.order:
            steps = f"{len(first.order):,} steps, and run again in the end {len(again.order):,}"
            raise unrepeatable(f"the first schedule took {steps}")
        if (again.reads, again.writes) != (first.reads, first.writes):
            raise unrepeatable("the steps of the first schedule, run again in the end, used other objects")
