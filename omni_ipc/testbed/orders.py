"""Tells schedules apart by the order of their conflicting steps."""

from __future__ import annotations

from omni_ipc.testbed.strategies.base import Run


def signature(run: Run) -> int:
    """Return a number that two runs share if they differ only in the order of steps that do not conflict.

    Each step has a level: one more than the highest of the earlier steps that it conflicts with, or that its own task
    took. The levels of the steps of each task determine the order of all that conflict (Foata's normal form).
    """
    task_level: dict[int, int] = {}
    read_level: dict[int, int] = {}
    write_level: dict[int, int] = {}
    form = []
    for index, reads, writes in zip(run.order, run.reads[1:], run.writes[1:], strict=False):
        task = run.keys[index]
        level = task_level.get(task, 0)
        for bit in _bits(reads | writes):
            level = max(level, write_level.get(bit, 0))
        for bit in _bits(writes):
            level = max(level, read_level.get(bit, 0))
        level += 1
        task_level[task] = level
        for bit in _bits(reads):
            read_level[bit] = max(level, read_level.get(bit, 0))
        for bit in _bits(writes):
            write_level[bit] = level
        form.append((level, task))
    return hash(tuple(sorted(form)))


def _bits(mask: int) -> list[int]:
    bits = []
    while mask:
        bit = mask & -mask
        bits.append(bit)
        mask ^= bit
    return bits
