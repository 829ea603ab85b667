"""Which pairs of steps a failure is due to, found by experiment: in the other order, it does not happen.

Two steps of different tasks that conflict are a candidate; those nearest to each other come first, and those on data
before those on locks, which say less. The schedule is run again with the first one's task held up until the second one
is done. If that turns the order of the two round, and the run ends well, their order is a cause. To hold up a task
turns other orders round, too. So a cause is left out if another one was turned round with it, but can be turned round
without it.

If no order is a cause alone, two of them may be it together: then a second task is held up in a run that failed with
one held up.

Source: the idea of counterfactual causes is that of D. Lewis, "Causation", 1973; that of trying schedules of a failing
one with something taken away, A. Zeller and J. Choi, "Isolating Failure-Inducing Thread Schedules", 2002.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, islice
from typing import NamedTuple

import msgspec

from omni_ipc.records import Cause, FailureKind, Step
from omni_ipc.testbed.explain.conflicts import Use, orders, uses_of
from omni_ipc.testbed.runner import Runner
from omni_ipc.testbed.strategies.base import Run
from omni_ipc.testbed.strategies.default import Sequenced

_MOST_RUNS = 60  # for causes alone, and as many for two together
_MOST_STEPS = 200_000
_MOST_CAUSES = 3  # more explain less
_MOST_OF_A_KIND = 6  # of which some may be left out


class _Experiment(NamedTuple):
    """A run in which the first step of a pair was held up until the second one was done."""

    pair: Cause
    order: Sequence[int]
    ends_well: bool


def find_causes(runner: Runner, run: Run) -> tuple[Cause, ...]:
    """Find the causes of the failure of a recorded run, by their first steps; none if none was found.

    What a task would have done next counts as its step, but for deadlocks: there, all next steps are in the cycle.
    """
    if run.failure is None:
        return ()
    pending = () if run.failure.kind is FailureKind.DEADLOCK else run.pending
    order = [*run.order, *(index for index, _ in pending)]
    candidates = _candidates((*run.steps, *(step for _, step in pending)), len(run.steps))
    causes = _Search(runner, order).causes(list(islice(candidates, _MOST_RUNS)))
    return tuple(sorted(causes, key=lambda cause: (cause.first, cause.second)))


class _Search:
    """The experiments with one failing run.

    Args:
        order: the tasks that took its steps, and those that would have taken the next ones.
    """

    def __init__(self, runner: Runner, order: Sequence[int]) -> None:
        self._runner = runner
        self._order = order
        self._left = max(_MOST_STEPS, 2 * len(order))

    def causes(self, candidates: Sequence[Cause]) -> list[Cause]:
        """Try each candidate alone, and, if that leads nowhere, two of them together."""
        alone = [made for _, kind in groupby(candidates, _is_order) for made in self._each_alone(list(kind))]
        causes = [made for made in alone if made.ends_well]
        if causes:
            telling = [made.pair for made in causes if not self._follows(made, causes)] or [causes[0].pair]
            on_data = [pair for pair in telling if not _is_order(pair)]
            return (on_data or telling)[:_MOST_CAUSES]
        return self._two_together(alone, candidates)

    def _each_alone(self, candidates: Sequence[Cause]) -> Iterator[_Experiment]:
        """Give the experiments that turned their pair round."""
        found = 0
        for pair in candidates:
            if found == _MOST_OF_A_KIND:
                break
            made = self._hold_up(self._order, pair)
            if made is not None:
                found += made.ends_well
                yield made

    def _two_together(self, alone: Sequence[_Experiment], candidates: Sequence[Cause]) -> list[Cause]:
        """Find two causes of which neither is one without the other."""
        tries = ((made, pair) for made in alone for pair in candidates if not self._turns(made, pair))
        for made, pair in islice(tries, _MOST_RUNS):
            both = self._hold_up(made.order, pair)
            if both is not None and both.ends_well and self._turns(both, made.pair):
                return [msgspec.structs.replace(cause, jointly=True) for cause in (made.pair, pair)]
        return []

    def _hold_up(self, order: Sequence[int], pair: Cause) -> _Experiment | None:
        """Run a schedule with a pair of the failing one turned round; None if it was not."""
        first, second = (_place(order, *_ordinal(self._order, step)) for step in (pair.first, pair.second))
        if self._left <= 0 or not first < second:
            return None
        run = self._runner.run(Sequenced(_held_up(order, first, second)))
        self._left -= len(run.order)
        made = _Experiment(pair, run.order, run.failure is None)
        return made if self._turns(made, pair) else None

    def _turns(self, made: _Experiment, pair: Cause) -> bool:
        """Tell whether an experiment turned a pair round."""
        return _place(made.order, *_ordinal(self._order, pair.second)) < _place(
            made.order, *_ordinal(self._order, pair.first)
        )

    def _follows(self, made: _Experiment, causes: Sequence[_Experiment]) -> bool:
        """Tell whether a cause is one only because another one was turned round with it."""
        return any(self._turns(made, other.pair) and not self._turns(other, made.pair) for other in causes)


def _candidates(steps: Sequence[Step], taken: int) -> Iterator[Cause]:
    """Give the conflicts between steps, one for each pair, of which the first was taken."""
    releases = {index for index, step in enumerate(steps) if step.action.endswith(".release")}
    found = sorted(
        (cause for cause in _conflicts(steps) if cause.first < taken and not releases & {cause.first, cause.second}),
        key=lambda cause: (_is_order(cause), cause.second - cause.first, cause.second, cause.target),
    )
    seen: set[tuple[int, int]] = set()
    for cause in found:
        pair = (cause.first, cause.second)
        if pair not in seen:
            seen.add(pair)
            yield cause


def _conflicts(steps: Sequence[Step]) -> Iterator[Cause]:
    """Give the conflicts since the second one's task wrote last: on data with the nearest step, on locks with all.

    An acquisition races with an earlier one, however often the lock was released and taken in between. And between two
    uses of data by one task, another may have come with many.
    """
    for target, uses in uses_of(steps).items():
        is_order = orders(target)
        if not is_order:
            yield from _around_others(target, uses)
        for place, second in enumerate(uses):
            met: set[tuple[str, bool]] = set()
            repeats = not is_order and place > 0 and _repeats(uses[place - 1], second)
            for first in reversed(uses[:place]):
                if first.task == second.task and first.writes:
                    break
                use = (first.task, first.writes)
                matters = not repeats if first.writes and second.writes else first.writes or second.writes
                if matters and use not in met and first.task != second.task:
                    met |= set() if is_order else {use}
                    yield Cause(first.at, second.at, target)


def _around_others(target: str, uses: Sequence[Use]) -> Iterator[Cause]:
    """Give the conflicts of a task's use with the last one of each that came before its next use, and so backwards."""
    last: dict[str, int] = {}
    for place, use in enumerate(uses):
        begun = last.get(use.task, place)
        last[use.task] = place
        between = uses[begun + 1 : place]
        for task in dict.fromkeys(other.task for other in between):
            theirs = [other for other in between if other.task == task]
            after = [other for other in theirs if uses[begun].writes or other.writes]
            before = [other for other in theirs if use.writes or other.writes]
            if after:
                yield Cause(uses[begun].at, after[-1].at, target)
            if before:
                yield Cause(before[0].at, use.at, target)


def _repeats(before: Use, use: Use) -> bool:
    """Tell whether a write leaves what the write right before it has left: an event that was set is set."""
    is_whole = use.value is not None and "..." not in use.value and "…" not in use.value
    return before.writes and use.writes and is_whole and before.value == use.value


def _is_order(cause: Cause) -> bool:
    return orders(cause.target)


def _ordinal(order: Sequence[int], step: int) -> tuple[int, int]:
    """Return whose step it is, and how many that task took before."""
    return order[step], order[:step].count(order[step])


def _place(order: Sequence[int], task: int, ordinal: int) -> int:
    """Return where in an order a task takes a step; its end, if it does not."""
    places = [place for place, index in enumerate(order) if index == task]
    return places[ordinal] if ordinal < len(places) else len(order)


def _held_up(order: Sequence[int], first: int, second: int) -> list[int]:
    """Return the order in which the task of the first step waits until the second step is done."""
    between = order[first : second + 1]
    task = order[first]
    others = [index for index in between if index != task]
    return [*order[:first], *others, *(task for index in between if index == task), *order[second + 1 :]]
