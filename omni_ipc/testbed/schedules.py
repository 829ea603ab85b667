"""Schedules as values that Hypothesis draws and shrinks: a failing input and its schedule become simple together.

    @given(st.lists(st.integers()), schedules())
    def test_nothing_is_lost(items, schedule):
        schedule.run(lambda: move(items), instrument=["vendor.pump"])

A schedule is a list of deviations from the default order, in which each task runs as far as it can. The simplest one
deviates nowhere. It is a sample: what passes is bounded by the examples that were drawn.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from omni_ipc.errors import EnvironmentMissing
from omni_ipc.records import MemoryOrder
from omni_ipc.testbed.explain import explain
from omni_ipc.testbed.explain.causes import find_causes
from omni_ipc.testbed.faults.kernel import Fault
from omni_ipc.testbed.faults.names import parsed
from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.options import several
from omni_ipc.testbed.runner import Runner, Scenario
from omni_ipc.testbed.stepper import ScheduleFailed
from omni_ipc.testbed.strategies.base import Run
from omni_ipc.testbed.strategies.default import Deviating, default_choice
from omni_ipc.testbed.tasks import Task
from omni_ipc.testbed.traces import trace_of

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

_MOST_SKIPPED = 4  # tasks that go on one after the other, before one is interrupted
_GAPS = (6, 40)  # decisions of that one before it is interrupted, at most: half of them come soon
_MOST_TASKS = 4  # that a deviation chooses between


@dataclasses.dataclass(frozen=True, slots=True)
class Schedule:
    """Who goes on at each decision.

    Args:
        deviations: three numbers each: how often another task is to go on by default before it; how many decisions to
            leave to the default order from there; and which of the other tasks that could go on then is to, counted by
            age, round and round. So a deviation stays what it is where other tasks take more steps, or fewer.
    """

    deviations: tuple[tuple[int, int, int], ...] = ()

    def run(
        self,
        scenario: Scenario,
        *,
        instrument: Collection[str] = (),
        faults: Sequence[Fault | str] = (),
        memory: str = MemoryOrder.SC,
        max_steps: int = 10_000,
    ) -> object:
        """Run a scenario once in this schedule, and return what it returns; the arguments are those of `explore`.

        Raises:
            ScheduleFailed: it failed; what happened is told in a note.
            UsageError: it is no scenario, or a module cannot be instrumented.
            Inconclusive: something was not under control.
        """
        __tracebackhide__ = True  # of pytest: who reads what failed looks for their own lines
        with Runner(
            scenario,
            memory=MemoryOrder(memory),
            max_steps=max_steps,
            faults=parsed(several("faults", faults)),
            instrument=several("instrument", instrument),
        ) as runner:
            _run(runner, ())  # what races there is a point in each example, whatever was run before
            run = _run(runner, self.deviations)
            if run.failure is None:
                return run.value
            story = _story(runner, run, str(getattr(scenario, "__qualname__", scenario)))
        error = ScheduleFailed(run.failure)
        error.add_note(story)
        raise error


def schedules(*, deviations: int = 6) -> SearchStrategy[Schedule]:
    """Draw schedules.

    Args:
        deviations: from the default order at most; most bugs need less than four.

    Raises:
        EnvironmentMissing: Hypothesis is not installed.
    """
    try:
        from hypothesis import strategies as st
    except ImportError:
        raise EnvironmentMissing("Schedules are drawn by Hypothesis.", "pip install hypothesis") from None
    gaps: SearchStrategy[int] = st.one_of(*(st.integers(0, most) for most in _GAPS))
    drawn = st.tuples(st.integers(0, _MOST_SKIPPED), gaps, st.integers(0, _MOST_TASKS - 2))
    return st.builds(Schedule, st.lists(drawn, max_size=deviations).map(tuple))


def _run(runner: Runner, deviations: Sequence[tuple[int, int, int]]) -> Run:
    """Run a schedule with all that races in it as points."""
    run = runner.run(_Drawn(deviations))
    while run.failure is None and runner.refine():
        run = runner.run(_Drawn(deviations))
    return run


def _story(runner: Runner, run: Run, name: str) -> str:
    recorded = runner.record(run.order)
    return "\n".join(explain(trace_of(recorded, name, causes=find_causes(runner, recorded))).story)


class _Drawn(Deviating):
    """Deviates where a schedule says so; decisions at which only one task could go on are not counted."""

    def __init__(self, deviations: Sequence[tuple[int, int, int]]) -> None:
        super().__init__()
        self._todo: Iterator[tuple[int, int, int]] = iter(deviations)
        self._running: Task | None = None
        self._advance()

    def _wanted(self, kernel: Kernel, enabled: list[Task]) -> Task | None:
        usual = default_choice(kernel, enabled)
        if usual is not self._running:
            self._skip -= self._running is not None and self._skip > 0
            self._running = usual
        if len(enabled) == 1 or self._left < 0 or self._skip:
            return None
        if self._left:
            self._left -= 1
            return None
        others = [task for task in enabled if task is not usual]
        self._running = others[self._which % len(others)]
        self._advance()
        return self._running

    def _advance(self) -> None:
        self._skip, self._left, self._which = next(self._todo, (0, -1, 0))
