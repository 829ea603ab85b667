"""Which pairs of steps a failure is due to, found by experiment: in the other order, it does not happen.

Two steps of different tasks that conflict are a candidate; those nearest to each other come first, and those on data
before those on locks. The schedule is run again with the first one's task held up until the second one is done. If that
turns the order of the two round, and the run ends well, their order is a cause.

Source: the idea of counterfactual causes is that of D. Lewis, "Causation", 1973; that of trying schedules of a failing
one with something taken away, A. Zeller and J. Choi, "Isolating Failure-Inducing Thread Schedules", 2002.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from omni_ipc.records import Cause, FailureKind, Step
from omni_ipc.testbed.explain.conflicts import History, orders
from omni_ipc.testbed.runner import Runner
from omni_ipc.testbed.strategies.base import Run
from omni_ipc.testbed.strategies.default import Sequenced

_MOST_RUNS = 60
_MOST_CAUSES = 3  # more explain less


def find_causes(runner: Runner, run: Run) -> tuple[Cause, ...]:
    """Find the causes of the failure of a recorded run, by their first steps; none if none was found.

    What a task would have done next counts as its step, but for deadlocks: there, all next steps are in the cycle.
    """
    if run.failure is None:
        return ()
    pending = () if run.failure.kind is FailureKind.DEADLOCK else run.pending
    order = [*run.order, *(index for index, _ in pending)]
    causes: list[Cause] = []
    for number, candidate in enumerate(_candidates((*run.steps, *(step for _, step in pending)), len(run.steps))):
        if number == _MOST_RUNS or len(causes) == _MOST_CAUSES:
            break
        if causes and orders(candidate.target) and not orders(causes[0].target):
            break  # what is on data says more
        other = runner.run(Sequenced(_held_up(order, candidate)))
        if other.failure is None and _turned_round(order, other.order, candidate):
            causes.append(candidate)
    return tuple(sorted(causes, key=lambda cause: (cause.first, cause.second)))


def _candidates(steps: Sequence[Step], taken: int) -> Iterator[Cause]:
    """Give the conflicts between steps, one for each pair, of which the first was taken."""
    releases = {index for index, step in enumerate(steps) if step.action.endswith(".release")}
    found = sorted(
        (cause for cause in _conflicts(steps) if cause.first < taken and not releases & {cause.first, cause.second}),
        key=lambda cause: (orders(cause.target), cause.second - cause.first, cause.second, cause.target),
    )
    seen: set[tuple[int, int]] = set()
    for cause in found:
        pair = (cause.first, cause.second)
        if pair not in seen:
            seen.add(pair)
            yield cause


def _conflicts(steps: Sequence[Step]) -> Iterator[Cause]:
    """Give the conflicts since the second one's task wrote last: on data with the nearest step, on locks with all.

    An acquisition races with an earlier one, however often the lock was released and taken in between.
    """
    for target, uses in History(steps).uses.items():
        is_order = orders(target)
        for place, second in enumerate(uses):
            met: set[tuple[str, bool]] = set()
            for first in reversed(uses[:place]):
                if first.task == second.task and first.writes:
                    break
                use = (first.task, first.writes)
                if use not in met and first.task != second.task and (first.writes or second.writes):
                    met |= set() if is_order else {use}
                    yield Cause(first.at, second.at, target)


def _turned_round(order: Sequence[int], other: Sequence[int], pair: Cause) -> bool:
    """Tell whether, in another order, the second step comes before the first."""
    return _place(other, *_ordinal(order, pair.second)) < _place(other, *_ordinal(order, pair.first))


def _ordinal(order: Sequence[int], step: int) -> tuple[int, int]:
    """Return whose step it is, and how many that task took before."""
    return order[step], order[:step].count(order[step])


def _place(order: Sequence[int], task: int, ordinal: int) -> int:
    """Return where in an order a task takes a step; its end, if it does not."""
    places = [place for place, index in enumerate(order) if index == task]
    return places[ordinal] if ordinal < len(places) else len(order)


def _held_up(order: Sequence[int], pair: Cause) -> list[int]:
    """Return the order in which the task of the first step waits until the second step is done."""
    between = order[pair.first : pair.second + 1]
    task = order[pair.first]
    others = [index for index in between if index != task]
    return [*order[: pair.first], *others, *(task for index in between if index == task), *order[pair.second + 1 :]]
