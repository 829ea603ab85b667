"""``time`` under control: the virtual clock by its many names."""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Callable
from typing import Any

from omni_ipc.testbed.clock import Spin
from omni_ipc.testbed.failures import describe_clock_loop
from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.operations import Operation, never, nothing
from omni_ipc.testbed.standard.world import asks, running

EPOCH_S = 1_600_000_000  # what the wall clock shows when a run begins: 2020-09-13 12:26:40 UTC
_MOMENT_S = 1e-9
_READS = 100_000  # of one step, after which it is taken to wait for a time that cannot come
_NS = 10**9
_localtime = time.localtime
_PATIENT_READS = 100  # of one time by one task, before it counts as waiting
_FEW_READS = 5  # from then on
_GLANCE_S = 1e-3
_MOST_YIELDS = 5  # of one task at one time, after which all others go on first
_STRETCH = 0.1  # how long a wait may be in relation to all that the task has waited so


def read(kernel: Kernel) -> float:
    """Return virtual seconds since the run began; no point, because time passes only while all tasks wait."""
    clock = kernel.clock
    if kernel.depth != clock.read_depth:
        clock.read_depth, clock.reads = kernel.depth, 0
    clock.reads += 1
    if clock.reads > _READS:
        kernel.end(describe_clock_loop(kernel.current))
    return kernel.now()


def look(kernel: Kernel) -> float:
    """Return virtual seconds since the run began, to code that may wait for a time by looking again and again.

    Points: once it has looked often enough; then it waits a little, as if it had slept, and longer each time.
    """
    now = read(kernel)
    task = kernel.current
    spin = kernel.clock.spins.get(task.index)
    if spin is None:
        spin = kernel.clock.spins[task.index] = Spin(now)
    if spin.seen != now:
        spin.seen = spin.began = now
        spin.reads = 0
    spin.reads += 1
    if spin.reads < _PATIENT_READS or task.atomic:
        return now
    sleep(kernel, max(_GLANCE_S, (now - spin.began) * _STRETCH))
    spin.seen = kernel.clock.now
    spin.reads = _PATIENT_READS - _FEW_READS
    return read(kernel)


def read_ns(kernel: Kernel) -> int:
    """Return virtual nanoseconds since the run began."""
    return round(look(kernel) * _NS)


def read_wall(kernel: Kernel) -> float:
    """Return virtual seconds since 1970."""
    return EPOCH_S + look(kernel)


def read_wall_ns(kernel: Kernel) -> int:
    """Return virtual nanoseconds since 1970."""
    return EPOCH_S * _NS + read_ns(kernel)


def sleep(kernel: Kernel, seconds: float, /) -> None:
    """Wait until all other tasks wait, too, and time has passed; in zero seconds others may go on, or not."""
    if seconds < 0:
        raise ValueError("sleep length must be non-negative")
    if seconds == 0 and _may_go_on(kernel):
        kernel.perform(Operation("sleep", None, nothing, extra={"ms": 0}))
    else:
        kernel.perform_within(_Sleep(seconds), max(seconds, _MOMENT_S))


def _may_go_on(kernel: Kernel) -> bool:
    """Tell whether the current task may go on before others do, though it yields; not if it does nothing else.

    Who polls so may poll any number of times before others go on; only a few of them are explored, and that is told.
    """
    clock, index = kernel.clock, kernel.current.index
    now, yields = clock.yields.get(index, (clock.now, 0))
    yields = yields + 1 if now == clock.now else 1
    clock.yields[index] = clock.now, yields
    if yields <= _MOST_YIELDS:
        return True
    if len(kernel.living) > 1:
        kernel.curtailed.add(f"tasks that slept for no time {_MOST_YIELDS} times on end let all others go on first")
    return False


class _Sleep(Operation):
    """Waits for time only."""

    __slots__ = ()

    def __init__(self, seconds: float) -> None:
        super().__init__("sleep", None, nothing, never, nothing, extra={"ms": round(seconds * 1000)})


def told(place: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Let a function take the virtual time where the argument at this place is left to the clock."""

    def by(original: Callable[..., Any]) -> Callable[..., Any]:
        takes_seconds = original.__name__ in ("localtime", "gmtime", "ctime")

        @functools.wraps(original)
        def redirected(*args: Any) -> Any:
            kernel = running() if len(args) == place or (len(args) > place and args[place] is None) else None
            if kernel is None or not asks(sys._getframe(1)):
                return original(*args)
            wall = read_wall(kernel)
            return original(*args[:place], wall if takes_seconds else _localtime(wall))

        return redirected

    return by


def clock_gettime(kernel: Kernel, clock_id: int, /) -> float:
    """Read the clock of the wall, or any other one."""
    return read_wall(kernel) if clock_id == time.CLOCK_REALTIME else look(kernel)


def clock_gettime_ns(kernel: Kernel, clock_id: int, /) -> int:
    """Read a clock in nanoseconds."""
    return read_wall_ns(kernel) if clock_id == time.CLOCK_REALTIME else read_ns(kernel)
