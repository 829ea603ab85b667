"""The switches of a trace, to the same tasks and in the same order, but each some steps earlier or later.

For code whose steps cannot be told apart from those of a trace: a lock taken twice where it was taken once.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

from omni_ipc.records import Step

_MOST = 100  # schedules to try
_MOST_SWITCHES = 4  # more have too many places to be tried at all


def slid(steps: Sequence[Step], names: Mapping[str, str]) -> Iterator[Mapping[int, str]]:
    """Give the switches of a trace out of the default order at other places, those nearby first.

    Args:
        names: task in the trace -> its name now.
    """
    switches = [
        (k, names.get(step.task, step.task)) for k, step in enumerate(steps) if step.switch and step.switch.over
    ]
    if not 0 < len(switches) <= _MOST_SWITCHES:
        return
    farthest = int((_MOST ** (1 / len(switches)) - 1) / 2)
    moves = itertools.product(range(-farthest, farthest + 1), repeat=len(switches))
    for move in sorted(moves, key=lambda offsets: sum(map(abs, offsets))):
        places = [place + offset for (place, _), offset in zip(switches, move, strict=True)]
        if places[0] >= 0 and all(before < after for before, after in itertools.pairwise(places)):
            yield dict(zip(places, (task for _, task in switches), strict=True))
