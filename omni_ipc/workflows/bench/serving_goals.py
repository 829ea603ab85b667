"""What is to be reached in serving: the old way's overhead over ours, and how often an output is copied."""

from __future__ import annotations

from collections.abc import Callable

from omni_ipc.workflows.bench.goals import Goal
from omni_ipc.workflows.bench.rows import Results

OURS, FRESH = "omni_ipc", "fresh segments, pickled queue"

BATCHES = (1, 8, 32)
SIZES = (3 << 19, 32 << 20)  # 1.5 and 32 MiB
NOTHING_BYTES = 8  # of an output that is measured for its request alone

_ONCE = 1.01  # an output, and the few bytes of the messages that speak of it


def batch_name(batch: int) -> str:
    """Name the work of a row."""
    return f"batch {batch}"


def _least_gain(nbytes: int) -> Callable[[Results], float | None]:
    def measure(results: Results) -> float | None:
        gains = []
        for batch in BATCHES:
            figures = [results.figure(name, batch_name(batch), nbytes, "overhead") for name in (FRESH, OURS)]
            old, new = figures
            if old is not None and new is not None:
                gains.append(old.median / new.median)
        return min(gains, default=None)

    return measure


def _most_copies(results: Results) -> float | None:
    figures = [results.figure(OURS, batch_name(BATCHES[0]), nbytes, "copies") for nbytes in SIZES]
    return max((figure.median for figure in figures if figure), default=None)


GOALS = (
    Goal("1.5 MiB, less overhead, at the worst batch, by: at least", _least_gain(SIZES[0]), 3, at_most=False),
    Goal("32 MiB, less overhead, at the worst batch, by: at least", _least_gain(SIZES[1]), 5, at_most=False),
    Goal("copies of an output, from the forward to its consumer: at most", _most_copies, _ONCE, at_most=True),
)
