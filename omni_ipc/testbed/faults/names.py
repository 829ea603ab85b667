"""Faults by name, as on the command line and in traces: KIND[:TARGET][,TIMES]."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence

from omni_ipc.errors import UnknownName, UsageError
from omni_ipc.testbed.faults.cancel import Cancel
from omni_ipc.testbed.faults.hook import Hook
from omni_ipc.testbed.faults.kernel import Fault
from omni_ipc.testbed.faults.kill import Kill
from omni_ipc.testbed.faults.late import LateMessage
from omni_ipc.testbed.faults.spurious import SpuriousWakeup
from omni_ipc.testbed.faults.timers import EarlyTimers

FAULTS: Mapping[str, Callable[[str, int], Fault]] = {
    "kill": Kill,
    "cancel": Cancel,
    "late": LateMessage,
    "hook": Hook,
    "spurious": lambda _, times: SpuriousWakeup(times),
    "timers": lambda _, times: EarlyTimers(times),
}
"""Kind -> what makes it, of a target and a number of times."""

_TARGETLESS = ("spurious", "timers")
_TARGETED = ("kill", "hook")


class Timers(enum.StrEnum):
    """When a wait with a time limit expires."""

    VIRTUAL = "virtual"  # only when nobody can go on
    EXPLORED = "explored"  # also while others can


def parse(text: str) -> Fault:
    """Read a fault: "kill:worker", "spurious", "cancel:future2", "kill:worker,2".

    Raises:
        UnknownName: there is no such kind.
        UsageError: the target or the number is missing, or makes no sense.
    """
    named, comma, times = text.partition(",")
    kind, colon, target = named.partition(":")
    if kind not in FAULTS:
        raise UnknownName("fault", kind, FAULTS)
    if comma and not (times.isdecimal() and int(times) > 0):
        raise UsageError(f"'{text}': a fault happens a positive number of times, and not '{times}'. Write {named},2.")
    if kind in _TARGETLESS and colon:
        raise UsageError(f"'{text}': {kind} has no target. Write {kind}{comma}{times}.")
    if kind in _TARGETED and not target:
        raise UsageError(f"'{text}': what does it befall? Write {kind}:NAME.")
    return FAULTS[kind](target, int(times) if comma else 1)


def parsed(faults: Sequence[Fault | str]) -> tuple[Fault, ...]:
    """Read those faults that are given by name.

    Raises:
        UsageError: as `parse`.
    """
    return tuple(parse(fault) if isinstance(fault, str) else fault for fault in faults)


def with_timers(faults: Sequence[Fault], timers: str) -> tuple[Fault, ...]:
    """Add what lets timers fire early, if they are to be explored.

    Raises:
        UnknownName: there is no such way.
    """
    if timers not in list(Timers):
        raise UnknownName("way of timers", timers, list(Timers))
    explored = timers == Timers.EXPLORED and not any(isinstance(fault, EarlyTimers) for fault in faults)
    return (EarlyTimers(), *faults) if explored else tuple(faults)
