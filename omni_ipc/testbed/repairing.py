"""Follows a trace through code that was edited since: what is gone is skipped, what is new is let run.

    trace ──┐                        ┌─► run along it ─► its steps ─┐
            ├─► align, task by task ─┤                              │  again, until the pairs stay the same
    run  ───┘                        └──────────────◄───────────────┘

Which steps are gone and which are new follows from a comparison with a run of the code as it is now, at first one in
the default order. A new step runs right before the next step of its task that the trace has, or as soon as it can.
Three grains of comparison are tried, each more forgiving than the one before, until a run fails as the trace did. If
none does, the switches of the trace are tried somewhat earlier and later.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from omni_ipc.records import Failure, Step, Trace
from omni_ipc.testbed.alignment import Alignment, Grain, align
from omni_ipc.testbed.failures import shape
from omni_ipc.testbed.following import Following
from omni_ipc.testbed.kernel import Chooser, Kernel
from omni_ipc.testbed.runner import Runner
from omni_ipc.testbed.sliding import slid
from omni_ipc.testbed.strategies.base import Run
from omni_ipc.testbed.strategies.default import DefaultOrder, Deviations
from omni_ipc.testbed.tasks import Task

_ROUNDS = 4  # of run and comparison, at each grain
_MOST_TOLD = 5  # steps of each kind


@dataclasses.dataclass(frozen=True, slots=True)
class Repaired:
    """A run along a trace of other code.

    Args:
        followed: steps of the trace that were taken.
        repairs: what was done so that it could be, a sentence each.
        names: task in the trace -> its name now, where that is another one.
    """

    run: Run
    followed: int
    repairs: tuple[str, ...]
    names: Mapping[str, str]


def follow_repairing(runner: Runner, trace: Trace, hints: Mapping[str, str]) -> Repaired:
    """Run along a trace, and return the first run that fails as it did, else the one that failed or went furthest.

    Args:
        hints: task in the trace -> its name now.
    """
    tried: list[Repaired] = []
    attempts = (_as_it_is(runner, trace), _aligned(runner, trace, hints), _slid(runner, trace, hints))
    for attempt in itertools.chain.from_iterable(attempts):
        tried.append(attempt)
        if attempt.run.failure is not None and _alike(trace.failure, attempt.run.failure, attempt.names):
            break
    else:
        return max(tried, key=lambda attempt: (attempt.run.failure is not None, attempt.followed))
    return tried[-1]


def _as_it_is(runner: Runner, trace: Trace) -> Iterator[Repaired]:
    """Run along the trace, if the code still takes all of its steps."""
    chooser = Following(trace.steps, DefaultOrder())
    run = runner.run(chooser, record=True)
    if chooser.followed == len(trace.steps):
        yield Repaired(run, chooser.followed, (), {})


def _aligned(runner: Runner, trace: Trace, hints: Mapping[str, str]) -> Iterator[Repaired]:
    """Run along the trace, by one grain after the other."""
    usual = runner.record(())
    for grain, is_eager in itertools.product(Grain, (False, True)):
        alignment = align(trace.steps, usual.steps, grain, hints, absent_may_come=True)
        for _ in range(_ROUNDS):
            run = runner.run(_Repairing(trace.steps, alignment, is_eager=is_eager), record=True)
            before, alignment = alignment, align(trace.steps, run.steps, grain, hints)
            repairs = tuple(_repairs(trace, run, alignment, grain))
            yield Repaired(run, len(alignment.matched), repairs, alignment.names)
            if alignment == before:
                break


def _slid(runner: Runner, trace: Trace, hints: Mapping[str, str]) -> Iterator[Repaired]:
    """Run with the trace's switches at other places."""
    names = align(trace.steps, runner.record(()).steps, Grain.ACTION, hints).names
    for switches in slid(trace.steps, names):
        run = runner.run(Deviations(switches))
        if run.failure is not None:
            run = runner.record(run.order)
            followed = len(align(trace.steps, run.steps, Grain.ACTION, hints).matched)
            places = ", ".join(f"to '{task}' before step {place + 1}" for place, task in switches.items())
            yield Repaired(run, followed, (f"the steps are others: the switches were moved: {places}",), names)


class _Repairing:
    """Takes the steps of a trace in their order, by what they are paired with.

    Args:
        is_eager: a new step is taken as soon as it can be; otherwise when the next one of its task is due.
    """

    def __init__(self, steps: Sequence[Step], alignment: Alignment, *, is_eager: bool) -> None:
        self._is_eager = is_eager
        self._steps = steps
        self._alignment = alignment
        self._matched = alignment.matched
        self._at = 0
        self._done: set[int] = set()
        self._taken: Counter[str] = Counter()  # steps of each task
        self._then: Chooser = DefaultOrder()

    def choose(self, kernel: Kernel, enabled: list[Task]) -> Task | None:
        chosen = self._next(kernel, enabled) or self._then.choose(kernel, enabled)
        if chosen is not None:
            if (paired := self._paired(chosen)) is not None:
                self._done.add(paired)
            self._taken[chosen.name] += 1
        return chosen

    def _next(self, kernel: Kernel, enabled: Sequence[Task]) -> Task | None:
        while self._at < len(self._steps):
            wanted = self._task(self._steps[self._at], kernel, enabled)
            if self._at in self._done or self._at not in self._matched or self._is_past(wanted):
                self._at += 1
                continue
            if self._is_eager and (helper := self._helper(None, enabled)) is not None:
                return helper
            if wanted in enabled:
                return wanted
            return self._helper(wanted, enabled) or self._later(kernel, enabled)
        return None

    def _is_past(self, task: Task | None) -> bool:
        """Tell whether the task is past the step at hand; one that is not there yet may still come."""
        column = self._column(task.name) if task is not None else ()
        return bool(column) and self._at not in column[self._taken[task.name if task else ""] :]

    def _helper(self, wanted: Task | None, enabled: Sequence[Task]) -> Task | None:
        """Return who can take a new step, so that the wanted task can go on: best, the one that it waits for."""
        helpers = [task for task in enabled if self._paired(task) is None]
        holder = wanted.pending.holder() if wanted is not None and wanted.pending is not None else None
        return holder if holder in helpers else next(iter(helpers), None)

    def _later(self, kernel: Kernel, enabled: Sequence[Task]) -> Task | None:
        """Return who can take the next step of the trace that can be taken at all."""
        paired = {index: task for task in enabled if (index := self._paired(task)) is not None}
        return paired[min(paired)] if paired else None

    def _task(self, step: Step, kernel: Kernel, enabled: Sequence[Task]) -> Task | None:
        name = self._alignment.names.get(step.task, step.task)
        return next((task for task in (*kernel.living, *enabled) if task.name == name), None)

    def _paired(self, task: Task) -> int | None:
        column, place = self._column(task.name), self._taken[task.name]
        return column[place] if place < len(column) else None

    def _column(self, task: str) -> Sequence[int | None]:
        return self._alignment.pairs.get(task, ())


def _alike(expected: Failure | None, found: Failure, names: Mapping[str, str]) -> bool:
    """Tell whether a failure is the one that was expected, if any was: the same kind and, but for names, message."""
    if expected is None:
        return True
    kind, message = shape(expected)
    for old, new in names.items():
        message = message.replace(f"'{old}'", f"'{new}'")
    return (kind, message) == shape(found)


def _repairs(trace: Trace, run: Run, alignment: Alignment, grain: Grain) -> Iterator[str]:
    for old, new in alignment.names.items():
        yield f"task '{old}' is called '{new}' now"
    yield from _told([str(step) for k, step in enumerate(trace.steps) if k not in alignment.matched], "gone: skipped")
    yield from _told(
        [f"{step}{f' at {step.where}' if step.where else ''}" for step in _new(run, alignment)], "new: ran"
    )
    if grain is Grain.NUMBERS:
        yield "objects are numbered otherwise now: steps were matched by the rest of their fields"
    if grain is Grain.ACTION:
        yield "fields are not what they were: steps were matched by their actions alone"


def _new(run: Run, alignment: Alignment) -> Iterator[Step]:
    """Give the steps that the trace does not have, before its last one."""
    left = len(alignment.matched)
    columns = {task: iter(column) for task, column in alignment.pairs.items()}
    for step in run.steps:
        if left == 0:
            return
        if next(columns.get(step.task, iter(())), None) is None:
            yield step
        else:
            left -= 1


def _told(steps: Sequence[str], what: str) -> Iterator[str]:
    more = len(steps) - _MOST_TOLD
    if steps:
        yield f"{what} {'; '.join(steps[:_MOST_TOLD])}{f'; and {more} more' if more > 0 else ''}"
