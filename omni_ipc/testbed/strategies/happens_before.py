"""What happens before what in a run: sets of steps as plain integers, in which bit k is step k.

Step k happens before a later one if both are of the same task, if they conflict, if k starts the other one's task, or
if time passed between them; and so on through steps in between. Each step costs one union of integers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from omni_ipc.testbed.strategies.base import Run


class HappensBefore:
    """The order of the steps of one run after another, of which each shares its first steps with the one before.

    Attributes:
        past: of each step, all that happens before it, and itself.
        taken: by index of a task, the steps that it took.
    """

    def __init__(self) -> None:
        self.past: list[int] = []
        self.taken: dict[int, int] = {}
        self._written: dict[int, int] = {}  # by bit of an object, the steps that wrote it
        self._read: dict[int, int] = {}

    def forget(self, depth: int) -> None:
        """Keep so many steps."""
        kept = (1 << depth) - 1
        del self.past[depth:]
        for steps in (self.taken, self._written, self._read):
            for key, mask in steps.items():
                steps[key] = mask & kept

    def clock(self, run: Run, task: int) -> int:
        """Return all that happens before whatever a task does next."""
        if own := self.taken.get(task):
            return self.past[own.bit_length() - 1]
        birth = run.births.get(task, -1)
        return self.past[birth] if birth >= 0 else 0

    def conflicts(self, reads: int, writes: int) -> int:
        """Return the steps that conflict with one which reads and writes such objects."""
        found = 0
        while writes:
            bit = writes & -writes
            writes ^= bit
            found |= self._written.get(bit, 0) | self._read.get(bit, 0)
        while reads:
            bit = reads & -reads
            reads ^= bit
            found |= self._written.get(bit, 0)
        return found

    def take(self, task: int, past: int, reads: int, writes: int) -> None:
        """Add a step."""
        step = 1 << len(self.past)
        self.past.append(past | step)
        self.taken[task] = self.taken.get(task, 0) | step
        while writes:
            bit = writes & -writes
            writes ^= bit
            self._written[bit] = self._written.get(bit, 0) | step
        while reads:
            bit = reads & -reads
            reads ^= bit
            self._read[bit] = self._read.get(bit, 0) | step

    def state(self) -> dict[str, Any]:
        return dict(vars(self))

    def restore(self, state: Mapping[str, Any]) -> None:
        vars(self).update(state)
