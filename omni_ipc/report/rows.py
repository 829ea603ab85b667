"""Which steps of a trace are shown: all of a short one, and of a long one those that matter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from omni_ipc.records import Step, Trace
from omni_ipc.report.states import changes

SHORT_STEPS = 24
"""A trace of at most so many steps is shown whole."""

LONG_ROWS = 60
"""Of more rows than this, only the first and the last are shown."""

_FIRST_ROWS, _LAST_ROWS = 10, 40
_LONGEST_PERIOD = 12  # steps of a poll
_ARRIVAL = "words.flush"  # of a store in memory: late, and so a step that matters


class Row(NamedTuple):
    """A step that is shown."""

    number: int  # from 1
    switched: bool  # another task took the step before
    step: Step
    changes: tuple[str, ...]  # of the state


class Gap(NamedTuple):
    """Steps that are not shown, counted by task."""

    counts: Mapping[str, int]


def is_region(step: Step) -> bool:
    """Tell a region, named after its actor ("Pump.Deliver"), from a primitive operation ("queue.get")."""
    return step.action[:1].isupper()


def rows_of(trace: Trace, *, full: bool) -> list[Row | Gap]:
    """Give the rows of a trace; ``full`` shows each step, however long it is."""
    shown = range(len(trace.steps)) if full else _steps_that_matter(trace.steps)
    return list(_rows(trace, shown))


def _rows(trace: Trace, shown: Sequence[int]) -> Iterator[Row | Gap]:
    next_index = 0
    for index in shown:
        if index - next_index > 1:
            yield Gap(Counter(step.task for step in trace.steps[next_index:index]))
        elif index > next_index:  # a single step takes no more room than its count
            yield _row(trace, next_index)
        yield _row(trace, index)
        next_index = index + 1


def _row(trace: Trace, index: int) -> Row:
    step = trace.steps[index]
    before = trace.steps[index - 1] if index else None
    state = before.state if before else trace.initial
    return Row(index + 1, before is None or before.task != step.task, step, changes(state, step.state))


def _steps_that_matter(steps: Sequence[Step]) -> Sequence[int]:
    shown: Sequence[int] = range(len(steps))
    if len(steps) > SHORT_STEPS:
        last = {step.task: index for index, step in enumerate(steps)}.values()
        dull = _repetitions(steps)
        if any(map(is_region, steps)):
            dull |= {index for index in shown if not (is_region(steps[index]) or steps[index].action == _ARRIVAL)}
        shown = [index for index in shown if index not in dull or index in last]
    if len(shown) > LONG_ROWS:
        shown = [*shown[:_FIRST_ROWS], *shown[-_LAST_ROWS:]]
    return shown


def _repetitions(steps: Sequence[Step]) -> set[int]:
    """Find the steps of a task that polls: the same few steps once more, with nobody else's between them."""
    keys = [(step.task, step.action, step.fields) for step in steps]
    found: set[int] = set()
    for period in range(1, _LONGEST_PERIOD + 1):
        for begin in range(period, len(keys) - period + 1):
            again = keys[begin : begin + period]
            if again == keys[begin - period : begin] and len({task for task, *_ in again}) == 1:
                found.update(range(begin, begin + period))
    return found
