"""The order of recorded steps, as far as it is known: by their tasks, and by their windows.

A step happened somewhere in its window, from its begin to its end. Of two windows that do not overlap, the order is
known. Steps are laid in as few chains as possible, each a sequence whose order is known, so that a search needs to know
only how far it came in each: there are as many chains as steps were under way at a time, however many tasks there were.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from omni_ipc.conformance.recordings.looking import Seen


class Ranked(msgspec.Struct, frozen=True):
    """A step with its window, in ranks: integers in the order of the times."""

    seen: Seen
    begin: int
    end: int


def chains(steps: Sequence[Seen]) -> list[list[Ranked]]:
    """Lay steps in chains.

    Args:
        steps: in the order of their beginnings.

    Returns:
        Chains; a step that never ended is the last one of its own, and its window is open to the end.
    """
    laid: list[list[Ranked]] = []
    for ranked in _ranked(steps):
        for chain in laid:
            if chain[-1].end < ranked.begin or _same_task(chain[-1].seen, ranked.seen):
                chain.append(ranked)
                break
        else:
            laid.append([ranked])
    return laid


def _ranked(steps: Sequence[Seen]) -> list[Ranked]:
    times = sorted({time for each in steps for time in (each.step.begin_ns, each.step.end_ns) if time is not None})
    ranks = {time: rank for rank, time in enumerate(times, start=1)}
    last = len(times) + 1
    return [
        Ranked(each, ranks[each.step.begin_ns], last if each.step.end_ns is None else ranks[each.step.end_ns])
        for each in steps
    ]


def _same_task(one: Seen, other: Seen) -> bool:
    return (one.step.process, one.step.thread) == (other.step.process, other.step.thread)
