"""Tells schedules apart by the order of their conflicting steps."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from omni_ipc.testbed.strategies.base import Run

_MOST_REMEMBERED = 100_000


def signature(run: Run) -> int:
    """Return a number that two runs share if they differ only in the order of steps that do not conflict.

    Steps that touched nothing do not count: a wait that one run has and another has not leaves no other trace.

    Each step has a level: one more than the highest of the earlier steps that it conflicts with, or that its own task
    took. The levels of the steps of each task determine the order of all that conflict (Foata's normal form).
    """
    task_level: dict[int, int] = {}
    read_level: dict[int, int] = {}
    write_level: dict[int, int] = {}
    form = []
    for index, reads, writes in zip(run.order, run.reads[1:], run.writes[1:], strict=False):
        touched = bits_of(reads | writes)
        if not touched:
            continue
        task = run.keys[index]
        level = task_level.get(task, 0)
        for bit in touched:
            if (written := write_level.get(bit, 0)) > level:
                level = written
        changed = bits_of(writes)
        for bit in changed:
            if (read := read_level.get(bit, 0)) > level:
                level = read
        level += 1
        task_level[task] = level
        for bit in bits_of(reads):
            if read_level.get(bit, 0) < level:
                read_level[bit] = level
        for bit in changed:
            write_level[bit] = level
        form.append((level, task))
    return hash(tuple(sorted(form)))


@functools.lru_cache(maxsize=10_000)
def bits_of(mask: int) -> tuple[int, ...]:
    """Return the single bits of a set; steps touch the same few sets over and over."""
    bits = []
    while mask:
        bit = mask & -mask
        bits.append(bit)
        mask ^= bit
    return tuple(bits)


class Repeats:
    """Schedules that were seen before: what samples meets the few schedules of a small scenario again and again."""

    def __init__(self) -> None:
        self._seen: set[int] = set()

    def meet(self, order: Sequence[int], reads: Sequence[int], writes: Sequence[int]) -> bool:
        """Take note of a run, and tell whether there was the same one before, as far as that is remembered.

        Args:
            order, reads, writes: as of a `Run`.
        """
        if len(self._seen) >= _MOST_REMEMBERED:
            self._seen.clear()
        before = len(self._seen)
        self._seen.add(hash((tuple(order), tuple(reads), tuple(writes))))
        return len(self._seen) == before

    def clear(self) -> None:
        """Forget them all."""
        self._seen.clear()
