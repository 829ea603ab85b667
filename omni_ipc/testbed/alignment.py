"""Pairs the steps of a trace with those of a run of edited code, task by task."""

from __future__ import annotations

import dataclasses
import enum
import re
from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from difflib import SequenceMatcher

from omni_ipc.records import Field, Step

_NUMBER = re.compile(r"\d+")
_ALIKE = 0.5  # of two tasks' steps, from which on one may be the other under a new name


class Grain(enum.IntEnum):
    """What two steps must share to be the same one; each grain forgives more than the one before."""

    FIELDS = 0
    NUMBERS = 1  # the fields, but for the numbers in them: "lock1" may be "lock2" now
    ACTION = 2


@dataclasses.dataclass(frozen=True, slots=True)
class Alignment:
    """Which steps of a trace a run has, and under which names.

    Args:
        names: task in the trace -> task in the run, of those that are not called the same.
        pairs: task in the run -> for each of its steps, the index of the step in the trace, or None if it is new.
    """

    names: Mapping[str, str]
    pairs: Mapping[str, Sequence[int | None]]

    @property
    def matched(self) -> frozenset[int]:
        """The steps of the trace that the run has."""
        return frozenset(index for column in self.pairs.values() for index in column if index is not None)


def align(
    trace: Sequence[Step], run: Sequence[Step], grain: Grain, hints: Mapping[str, str], *, absent_may_come: bool = False
) -> Alignment:
    """Pair the steps of a trace and a run.

    Args:
        hints: task in the trace -> its name now; other tasks that are not found are looked for by what they do.
        absent_may_come: a task that takes no step in the run, such as a fault, may take all those of the trace.
    """
    old, new = _by_task(trace), _by_task(run)
    names = _renamed(trace, run, old, new, hints)
    pairs: dict[str, list[int | None]] = {task: [None] * len(places) for task, places in new.items()}
    for task, places in old.items():
        now = names.get(task, task)
        if now not in new and absent_may_come:
            pairs[now] = list(places)
            continue
        before = [_key(trace[index], grain, names) for index in places]
        after = [_key(run[index], grain, {}) for index in new.get(now, ())]
        for block in SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks():
            pairs.setdefault(now, [])[block.b : block.b + block.size] = places[block.a : block.a + block.size]
    return Alignment(names, pairs)


def renamed(value: Field, names: Mapping[str, str]) -> Field:
    """Put the new names of tasks into a field: "pump" and "pump.future2"."""
    if not isinstance(value, str):
        return value
    task, dot, rest = value.partition(".")
    return names.get(value, f"{names.get(task, task)}{dot}{rest}")


def _by_task(steps: Sequence[Step]) -> dict[str, list[int]]:
    places: dict[str, list[int]] = defaultdict(list)
    for index, step in enumerate(steps):
        places[step.task].append(index)
    return dict(places)


def _renamed(
    trace: Sequence[Step],
    run: Sequence[Step],
    old: Mapping[str, Sequence[int]],
    new: Mapping[str, Sequence[int]],
    hints: Mapping[str, str],
) -> dict[str, str]:
    """Give each task of the trace that is not there any more the unknown task of the run that is most like it."""
    names = dict(hints)
    unknown = [task for task in new if task not in old and task not in names.values()]
    for task in old:
        if task in new or task in names or not unknown:
            continue
        before = [_key(trace[index], Grain.ACTION, {}) for index in old[task]]

        def likeness(other: str, before: Sequence[Hashable] = before) -> float:
            after = [_key(run[index], Grain.ACTION, {}) for index in new[other]]
            return SequenceMatcher(None, before, after, autojunk=False).ratio()

        best = max(unknown, key=likeness)
        if likeness(best) >= _ALIKE:
            names[task] = best
            unknown.remove(best)
    return names


def _key(step: Step, grain: Grain, names: Mapping[str, str]) -> Hashable:
    if grain is Grain.ACTION:
        return step.action
    fields = ((name, renamed(value, names)) for name, value in step.fields.items())
    if grain is Grain.FIELDS:
        return step.action, tuple(fields)
    return step.action, tuple((name, _NUMBER.sub("#", str(value))) for name, value in fields)
