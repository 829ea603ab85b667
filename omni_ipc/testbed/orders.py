"""Tells schedules apart by the order of their conflicting steps."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence

from omni_ipc.testbed.strategies.base import Run

_MOST_REMEMBERED = 100_000


def signature(run: Run, name: Callable[[int], int]) -> int:
    """Return a number that two runs share if they differ only in the order of steps that do not conflict.

    Args:
        name: gives a bit's number in all processes, so that what several have seen can be counted together.

    Steps that touched nothing do not count: a wait that one run has and another has not leaves no other trace.

    Of each object there is a history: who wrote it one after another, and who read it between two writes, in any order.
    What a task does is determined by what it finds, so where all histories are the same, all that conflicts is.
    """
    keys = run.keys
    written: defaultdict[int, list[Hashable]] = defaultdict(list)  # by bit, its history up to the last write
    read: dict[int, int] = {}  # and a number for the reads since
    for index, reads, writes in zip(run.order, run.reads[1:], run.writes[1:], strict=False):
        if writes:
            for bit in bits_of(writes):
                if bit in read:
                    written[bit].append((read.pop(bit),))
                written[bit].append(keys[index])
        if reads:
            for bit in bits_of(reads):
                read[bit] = read.get(bit, 0) + keys[index]
    histories = frozenset((name(bit), tuple(history)) for bit, history in written.items())
    return hash((histories, frozenset((name(bit), readers) for bit, readers in read.items())))


@functools.lru_cache(maxsize=10_000)
def bits_of(mask: int) -> tuple[int, ...]:
    """Return the single bits of a set; steps touch the same few sets over and over."""
    bits = []
    while mask:
        bit = mask & -mask
        bits.append(bit)
        mask ^= bit
    return tuple(bits)


def schedule_number(order: Sequence[int], reads: Sequence[int], writes: Sequence[int]) -> int:
    """Return a number that two runs share if the same tasks took the same steps in the same order.

    Args:
        order, reads, writes: as of a `Run`.
    """
    return hash((tuple(order), tuple(reads), tuple(writes)))


class Repeats:
    """Schedules that were seen before: what samples meets the few schedules of a small scenario again and again."""

    def __init__(self) -> None:
        self._seen: set[int] = set()

    def meet(self, schedule: int) -> bool:
        """Take note of a run by its number, and tell whether it was there before, as far as that is remembered."""
        if schedule in self._seen:
            return True
        if len(self._seen) >= _MOST_REMEMBERED:
            self._seen.clear()
        self._seen.add(schedule)
        return False

    def clear(self) -> None:
        """Forget them all."""
        self._seen.clear()
