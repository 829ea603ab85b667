"""Makes sure of a failure, and makes it short: a schedule that fails once could be an accident."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from omni_ipc.records import Failure, Trace
from omni_ipc.testbed.failures import shape, unrepeatable
from omni_ipc.testbed.repairing import follow_repairing
from omni_ipc.testbed.runner import Runner
from omni_ipc.testbed.shrink import shrink_order

_SHARPENINGS = 3  # of a failure's trace: with more steps, more may race


def confirmed(runner: Runner, order: Sequence[int], failure: Failure) -> list[int]:
    """Make sure of a failing schedule, and return a simpler one that fails in the same way.

    Raises:
        Inconclusive: it does not fail in the same way each time.
    """
    confirm(runner, order, failure)
    return shrink_order(runner, order, failure)


def confirm(runner: Runner, order: Sequence[int], failure: Failure) -> None:
    """Run a failing schedule twice more.

    Raises:
        Inconclusive: it does not fail in the same way each time.
    """
    first, second = runner.record(order), runner.record(order)
    if first.failure is None or _bare(first.failure) != _bare(second.failure) or shape(first.failure) != shape(failure):
        raise unrepeatable(
            f"a schedule failed ({failure}), and run again it came to {first.failure or 'a good end'}, "
            f"and then to {second.failure or 'a good end'}"
        )


def sharpened(runner: Runner, order: Sequence[int], trace_of: Callable[[Sequence[int]], Trace]) -> Trace:
    """Make the trace of a failure, with all accesses that race in it as steps, as far as it still fails then."""
    trace = trace_of(order)
    instrumentation = runner.instrumentation
    for _ in range(_SHARPENINGS if instrumentation is not None else 0):
        failed = runner.record(order)
        if instrumentation is None or failed.failure is None or not instrumentation.refine():
            break
        again = follow_repairing(runner, trace, {}).run
        if again.failure is None or shape(again.failure) != shape(failed.failure):
            break
        order = shrink_order(runner, again.order, again.failure)
        trace = trace_of(order)
    return trace


def _bare(failure: Failure | None) -> Failure | None:
    """Leave out the details: they show values, which no step may depend on and each run may make anew."""
    return None if failure is None else msgspec.structs.replace(failure, details=())
