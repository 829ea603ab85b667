"""Replays an explored trace: its steps one by one, strictly, and then on by any strategy."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence

import msgspec

from omni_ipc.errors import UnknownName, UsageError
from omni_ipc.records import Failure, Origin, Step, Trace
from omni_ipc.testbed.kernel import Chooser, Kernel
from omni_ipc.testbed.recorder import describe_step
from omni_ipc.testbed.runner import Runner, Scenario
from omni_ipc.testbed.shrink import shrink_order
from omni_ipc.testbed.strategies import STRATEGIES
from omni_ipc.testbed.strategies.base import Run
from omni_ipc.testbed.tasks import Task
from omni_ipc.testbed.traces import steps_worth_keeping
from omni_ipc.testbed.where import locate


@dataclasses.dataclass(frozen=True, slots=True)
class Diverged:
    """Where a run left its trace.

    Args:
        step: number of steps that were taken as in the trace.
        expected: the next step of the trace.
        offered: what its task would have done instead; None if there is no such task.
        why: the difference in words.
    """

    step: int
    expected: Step
    offered: Step | None
    why: str

    def __str__(self) -> str:
        return f"step {self.step + 1} of the trace is {self.expected}, but {self.why}"


@dataclasses.dataclass(frozen=True, slots=True)
class ReplayResult:
    """What came of a replay.

    Args:
        followed: steps taken as in the trace.
        value: what the scenario returned, if it did.
        trace: the steps that were taken, and the failure.
    """

    followed: int
    diverged: Diverged | None
    failure: Failure | None
    value: object
    trace: Trace


def replay(
    scenario: Scenario,
    trace: Trace,
    *,
    then: str = "depth-first",
    seed: int = 0,
    transparent: Collection[str] = (),
    max_steps: int = 10_000,
) -> ReplayResult:
    """Run a scenario along an explored trace: each step by the same task, with the same action and fields.

    The run is under the trace's memory order. Fields that only one side has do not count. Where the run leaves the
    trace, it goes on to its end all the same.

    Args:
        then: key of the strategy that goes on after the trace; "depth-first" goes on in the default order.
        seed: of that strategy.

    Raises:
        UsageError: the trace comes from a model, and so has only some of the steps; `Stepper` follows such a trace.
        UnknownName: there is no such strategy.
        Inconclusive: something was not under control.
    """
    _require_explored(trace)
    if then not in STRATEGIES:
        raise UnknownName("strategy", then, STRATEGIES)
    chooser = _Following(trace.steps, STRATEGIES[then](seed))
    with Runner(scenario, transparent=transparent, max_steps=max_steps, memory=trace.memory) as runner:
        run = runner.run(chooser, record=True)
    return ReplayResult(chooser.followed, chooser.divergence(), run.failure, run.value, _trace(trace, run))


def shrink(scenario: Scenario, trace: Trace, *, transparent: Collection[str] = (), max_steps: int = 10_000) -> Trace:
    """Find a simpler trace that fails in the same way; the same steps if there is none.

    Raises:
        UsageError: the trace comes from a model, or the scenario does not fail along it.
        Inconclusive: something was not under control.
    """
    _require_explored(trace)
    chooser = _Following(trace.steps, STRATEGIES["depth-first"](0))
    with Runner(scenario, transparent=transparent, max_steps=max_steps, memory=trace.memory) as runner:
        run = runner.run(chooser)
        if run.failure is None:
            reason = chooser.divergence() or "it ends well"
            raise UsageError(f"The scenario does not fail along this trace: {reason}. Explore it anew.")
        return _trace(trace, runner.record(shrink_order(runner, run.order, run.failure)))


class _Following:
    """Follows a trace as long as it can, and leaves the rest to a strategy."""

    def __init__(self, steps: Sequence[Step], then: Chooser) -> None:
        self._steps = steps
        self._then = then
        self._diverged: Diverged | None = None
        self.followed = 0

    def choose(self, kernel: Kernel, enabled: list[Task]) -> Task | None:
        if self._diverged is not None or self.followed == len(self._steps):
            return self._then.choose(kernel, enabled)
        expected = self._steps[self.followed]
        task = _find(kernel, expected)
        self._diverged = self._difference(expected, task)
        if self._diverged is not None:
            return self._then.choose(kernel, enabled)
        self.followed += 1
        return task

    def divergence(self) -> Diverged | None:
        """Return where the run that has ended left the trace."""
        if self._diverged is not None or self.followed == len(self._steps):
            return self._diverged
        return Diverged(self.followed, self._steps[self.followed], None, "the run had ended before it")

    def _difference(self, expected: Step, task: Task | None) -> Diverged | None:
        if task is None or task.pending is None:
            return Diverged(self.followed, expected, None, f"there is no living task '{expected.task}'")
        place = locate(task.frame())
        offered = describe_step(task, place)
        if not expected.fits(offered.action, offered.fields):
            why = f"the task offers {offered}{f' at {place}' if place else ''}"
        elif not task.ready():
            why = f"there it waits for {task.pending.blocked_on()}"
        else:
            return None
        return Diverged(self.followed, expected, offered, why)


def _find(kernel: Kernel, step: Step) -> Task | None:
    """Return the living task whose step it is; of several drains of one task, that with the same fields."""
    named = [task for task in kernel.living if task.name == step.task]
    same = [task for task in named if task.pending is not None and task.pending.fields() == step.fields]
    return next(iter(same or named), None)


def _require_explored(trace: Trace) -> None:
    if trace.origin is not Origin.EXPLORED:
        raise UsageError(f"A trace of origin '{trace.origin}' has only some of the steps. Follow it with a Stepper.")


def _trace(trace: Trace, run: Run) -> Trace:
    """Return the trace of a run of the same scenario."""
    return msgspec.structs.replace(trace, steps=steps_worth_keeping(run), failure=run.failure)
