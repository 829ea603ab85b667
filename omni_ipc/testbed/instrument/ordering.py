"""What comes before what in a run that is over: its steps are ordered as far as they conflict.

What a task does behind a step comes before another task's step if its own next step does, and before what that task
does then.

Source: L. Lamport, "Time, clocks, and the ordering of events in a distributed system", 1978.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Generator

from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.orders import bits_of


class Ordering:
    """Goes through a run in time; sets of steps are bits of numbers.

    Attributes:
        before: by task, the steps that come before what it does now, and the ends of tasks: bits behind all steps.
        advance: goes on until so many steps have been taken.
    """

    def __init__(self, kernel: Kernel) -> None:
        self.before: dict[int, int] = defaultdict(int)
        self._kernel = kernel
        self._order = kernel.order[: kernel.depth]
        self._writer: dict[int, int] = {}  # by bit of an object: the steps before its last write, and that one
        self._readers: dict[int, int] = {}
        self._steps_of: dict[int, list[int]] = defaultdict(list)
        for step, task in enumerate(self._order):
            self._steps_of[task].append(step)
        self._ends = {steps[-1] for task, steps in self._steps_of.items() if kernel.tasks[task].ended}
        self._born: dict[int, list[int]] = defaultdict(list)
        for task, step in kernel.births.items():
            self._born[step].append(task)
        taking = self._take()
        next(taking)
        self.advance = taking.send

    def closing(self, task: int, depth: int) -> int:
        """Return the step that ends what a task does when so many steps were taken, or its end, if there is none."""
        own = self._steps_of[task]
        place = bisect_left(own, depth)
        return own[place] if place < len(own) else self._end_of(task)

    def _take(self) -> Generator[None, int, None]:
        """Take step after step; what is sent is how many are to be taken by then."""
        before, writer, readers, ends = self.before, self._writer, self._readers, self._ends
        log = zip(self._order, self._kernel.read_log[1:], self._kernel.write_log[1:], strict=False)
        depth = yield
        for step, (task, reads, writes) in enumerate(log):
            while step >= depth:
                depth = yield
            if step in ends:
                writes &= ~self._kernel.tasks[task].bit  # its end is a step of its own here
            known = before[task] | 1 << step
            if not reads and not writes & (writes - 1):  # as most steps
                if writes:
                    writer[writes] = known = known | writer.get(writes, 0) | readers.pop(writes, 0)
                before[task] = known
            else:
                before[task] = self._touch(known, reads, writes)
            if step in self._born or step in ends:
                self._begin_and_end(task, step)
        while True:
            yield

    def _touch(self, known: int, reads: int, writes: int) -> int:
        """Order a step behind those that it conflicts with, and return what comes before what follows it."""
        writer, readers = self._writer, self._readers
        for bit in bits_of(reads | writes):
            known |= writer.get(bit, 0)
            if bit & writes:
                known |= readers.get(bit, 0)
        for bit in bits_of(writes):
            writer[bit] = known
            readers.pop(bit, None)
        for bit in bits_of(reads & ~writes):
            readers[bit] = readers.get(bit, 0) | known
        return known

    def _begin_and_end(self, task: int, step: int) -> None:
        for child in self._born.get(step, ()):
            self.before[child] = self.before[task]
        if step in self._ends:
            self._writer[self._kernel.tasks[task].bit] = self.before[task] | 1 << self._end_of(task)

    def _end_of(self, task: int) -> int:
        return len(self._order) + task
