"""Which steps of a trace conflict, and which had to come before which."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from omni_ipc.explanations import Conflict
from omni_ipc.records import Step

if TYPE_CHECKING:
    from omni_ipc.testbed.explain.names import Names

_ORDERING = re.compile(
    r"(([^\[]+\.)?(r?lock|mutex|condition|semaphore|barrier|loop)\d+|(the (end|waiters) of|task|thread) .+)"
    r"( and \d+ more)?"
)
"""Names as the runtime gives them: "lock2", "pump.lock2"; a field that somebody calls "clock" is data."""


class Use(NamedTuple):
    """A use of something that several tasks use."""

    at: int  # index of the step
    task: str
    writes: bool
    value: str | None


class History:
    """The uses of each target, in order.

    Attributes:
        uses: by target.
        names: what targets are called.
    """

    def __init__(self, steps: Sequence[Step], names: Names) -> None:
        self.uses = uses_of(steps)
        self.names = names
        self._steps = steps
        self._before: list[int] | None = None

    def targets(self, index: int) -> tuple[str, ...]:
        """Return what a step uses."""
        return tuple(access.target for access in self._steps[index].accesses)

    def conflicts(self, shown: Collection[int], about: Collection[str]) -> tuple[Conflict, ...]:
        """Return the conflicts between shown steps on some targets, but for those that follow from others."""
        found = (found for found in self._conflicts(set(shown)) if found.target in about or found.orders)
        return tuple(sorted(found, key=lambda found: (found.earlier, found.later, found.target)))

    def leads_to(self, later: Collection[int]) -> set[int]:
        """Return the steps that happened before some step: by their task's order, or by conflicts."""
        before = self._happened_before()
        mask = 0
        for index in later:
            mask |= before[index] | 1 << index
        return {index for index in range(len(self._steps)) if mask >> index & 1}

    def _conflicts(self, shown: set[int]) -> Iterator[Conflict]:
        for target, all_uses in self.uses.items():
            uses = [use for use in all_uses if use.at in shown]
            for place, later in enumerate(uses):
                has_read = False  # what that came after is before this one, too
                for earlier in reversed(uses[:place]):
                    is_implied = earlier.writes and has_read
                    if earlier.task != later.task and (earlier.writes or later.writes) and not is_implied:
                        yield Conflict(earlier.at, later.at, target, self.names.orders(target))
                    if earlier.writes:
                        break  # what came before it came before this one, too
                    has_read |= later.writes and earlier.task == later.task

    def _happened_before(self) -> list[int]:
        """Return, for each step, the set of the steps before it, as bits."""
        if self._before is None:
            self._before = []
            last_of_task: dict[str, int] = {}
            writes: dict[str, int] = defaultdict(int)
            reads: dict[str, int] = defaultdict(int)
            for index, step in enumerate(self._steps):
                mask = last_of_task.get(step.task, 0)
                for access in step.accesses:
                    mask |= writes[access.target] | (reads[access.target] if access.writes else 0)
                self._before.append(mask)
                last_of_task[step.task] = own = mask | 1 << index
                for access in step.accesses:
                    of = writes if access.writes else reads
                    of[access.target] |= own
        return self._before


def uses_of(steps: Sequence[Step]) -> dict[str, list[Use]]:
    """Return the uses of each target, in order."""
    uses: dict[str, list[Use]] = defaultdict(list)
    for index, step in enumerate(steps):
        for access in step.accesses:
            uses[access.target].append(Use(index, step.task, access.writes, access.value))
    return uses


def orders(target: str) -> bool:
    """Tell what is there to order steps, such as a lock, from data, by the names of the runtime."""
    return _ORDERING.fullmatch(target) is not None
