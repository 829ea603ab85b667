"""Which steps of a trace are shown, and what is told of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from omni_ipc.explanations import Explanation, whose_value
from omni_ipc.records import Access, Step
from omni_ipc.report.states import changes

_CLOSING = ("}", "]", "])", "})", "set()")  # of a container that is told whole, which "…" is not


class Row(NamedTuple):
    """A step that is shown."""

    number: int  # from 1
    step: Step
    switched: bool  # another task took the step before
    reason: str | None  # why the task of the row before did not go on
    is_cause: bool  # one of two whose order the failure is due to
    is_last: bool  # after it, the failure was there
    changes: tuple[str, ...]  # of the state
    values: tuple[str, ...]  # of what it used and others do, too


class Gap(NamedTuple):
    """Steps that are not shown, counted by task."""

    counts: Mapping[str, int]


def is_region(step: Step) -> bool:
    """Tell a region, named after its actor ("Pump.Deliver"), from a primitive operation ("queue.get")."""
    return step.action[:1].isupper()


def rows_of(explanation: Explanation, *, full: bool) -> list[Row | Gap]:
    """Give the rows of a trace: those that matter, or all of them."""
    shown = range(len(explanation.trace.steps)) if full else explanation.matters
    return list(_rows(explanation, shown))


def value_of(step: Step, access: Access, before: str | None = None) -> str:
    """Write an access of a step with its value: "Counter.value = 1", and with ":=" where it is changed.

    Args:
        before: the value that was told last; a container that still has it was looked at, if anything, unless one item
            of it was set.
    """
    value = access.value
    if value is None:
        return access.target
    is_kept = value == before and value.endswith(_CLOSING) and "[" not in str(step.fields.get("item"))
    return f"{whose_value(step, access)} {':=' if access.writes and not is_kept else '='} {value}"


def _rows(explanation: Explanation, shown: Sequence[int]) -> Iterator[Row | Gap]:
    steps = explanation.trace.steps
    next_index, last = 0, -1
    for index in shown:
        if index - next_index > 1:
            yield Gap(Counter(step.task for step in steps[next_index:index]))
        elif index > next_index:  # a single step takes no more room than its count
            yield _row(explanation, next_index, last)
            last = next_index
        yield _row(explanation, index, last)
        last = index
        next_index = index + 1
    if next_index < len(steps):
        yield Gap(Counter(step.task for step in steps[next_index:]))


def _row(explanation: Explanation, index: int, shown_before: int) -> Row:
    trace = explanation.trace
    step, before = trace.steps[index], trace.steps[index - 1] if index else None
    told = {conflict.target for conflict in explanation.conflicts if not conflict.orders}
    return Row(
        number=index + 1,
        step=step,
        switched=before is None or before.task != step.task,
        reason=_reason(trace.steps, shown_before, index),
        is_cause=any(index in (cause.first, cause.second) for cause in trace.causes),
        is_last=trace.failure is not None and index == len(trace.steps) - 1,
        changes=changes(before.state if before else trace.initial, step.state),
        values=tuple(
            value_of(step, access, _before(trace.steps, index, access.target))
            for access in step.accesses
            if access.target in told and access.value is not None
        ),
    )


def _before(steps: Sequence[Step], index: int, target: str) -> str | None:
    """Return the value that a place had after the last step before that used it."""
    for step in reversed(steps[:index]):
        for access in step.accesses:
            if access.target == target:
                return access.value
    return None


def _reason(steps: Sequence[Step], shown_before: int, index: int) -> str | None:
    """Return why the task of an earlier step did not go on, if it did not."""
    if shown_before < 0 or steps[shown_before].task == steps[index].task:
        return None
    switches = (step.switch for step in steps[shown_before + 1 : index + 1])
    return next((switch.reason for switch in switches if switch is not None), None)
