"""What comes before what in a run that is over: its steps are ordered as far as they conflict.

What a task does behind a step comes before another task's step if its own next step does, and before what that task
does then. So for each task a clock tells how many steps of each other one come before what it does now.

Source: C. Fidge, "Timestamps in message-passing systems that preserve the partial ordering", 1988; F. Mattern, "Virtual
time and global states of distributed systems", 1989.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator, Iterable

from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.orders import bits_of

Clock = list[int]


class Ordering:
    """Goes through a run in time.

    Attributes:
        clocks: by task, how many steps of each task come before what it does now: its own are those that it has taken,
            and the end of a task counts as one more.
        advance: goes on until so many steps have been taken.
        close: makes an end, so that nothing need wait for the garbage collector.
    """

    def __init__(self, kernel: Kernel) -> None:
        self.clocks: list[Clock] = [[0] * len(kernel.tasks) for _ in kernel.tasks]
        self._kernel = kernel
        self._order = kernel.order[: kernel.depth]
        self._written: dict[int, tuple[int, Clock]] = {}  # by bit of an object: who wrote it last, and its clock then
        self._read: dict[int, Clock] = {}  # by bit: what comes before its next write because it was read since
        last = dict(zip(self._order, range(len(self._order)), strict=True))
        self._ends = {step for task, step in last.items() if kernel.tasks[task].ended}
        self._born: dict[int, list[int]] = defaultdict(list)
        for task, step in kernel.births.items():
            self._born[step].append(task)
        self._turns = self._ends | self._born.keys()
        taking = self._take()
        next(taking)
        self.advance, self.close = taking.send, taking.close

    def _take(self) -> Generator[None, int, None]:
        """Take step after step; what is sent is how many are to be taken by then."""
        clocks, written, read, turns = self.clocks, self._written, self._read, self._turns
        log = zip(self._order, self._kernel.read_log[1:], self._kernel.write_log[1:], strict=False)
        depth = yield
        for step, (task, reads, writes) in enumerate(log):
            while step >= depth:
                depth = yield
            clock = clocks[task]
            clock[task] += 1
            is_turn = step in turns
            if is_turn and step in self._ends:
                writes &= ~self._kernel.tasks[task].bit  # its end is a step of its own here
            if reads or writes & (writes - 1):
                self._touch(task, reads, writes)
            elif writes:  # as most steps
                if (past := written.get(writes)) is not None and past[0] != task:
                    _join(clock, past[1])
                if writes in read:
                    _join(clock, read.pop(writes))
                written[writes] = task, clock[:]
            if is_turn:
                self._begin_and_end(task, step)
        while True:
            yield

    def _touch(self, task: int, reads: int, writes: int) -> None:
        """Order a step behind those that it conflicts with."""
        clock = self.clocks[task]
        for bit in bits_of(reads | writes):
            if (past := self._written.get(bit)) is not None and past[0] != task:
                _join(clock, past[1])
            if bit & writes and bit in self._read:
                _join(clock, self._read.pop(bit))
        now = clock[:]
        for bit in bits_of(writes):
            self._written[bit] = task, now
        for bit in bits_of(reads & ~writes):
            if bit in self._read:
                _join(self._read[bit], now)
            else:
                self._read[bit] = now[:]

    def _begin_and_end(self, task: int, step: int) -> None:
        for child in self._born.get(step, ()):
            self.clocks[child][:] = self.clocks[task]
        if step in self._ends:
            end = self.clocks[task][:]
            end[task] += 1
            for bit in bits_of(self._kernel.tasks[task].bit):
                self._written[bit] = task, end


def _join(clock: Clock, other: Iterable[int]) -> None:
    """Let all come before that comes before something else."""
    for task, steps in enumerate(other):
        if steps > clock[task]:
            clock[task] = steps
