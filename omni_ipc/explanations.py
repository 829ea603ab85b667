"""What a trace comes down to: the steps that matter, and what happened, in words."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from omni_ipc.records import Access, Step, Trace


class Conflict(msgspec.Struct, frozen=True):
    """Two steps of different tasks whose order counts, because at least one of them changes what both use."""

    earlier: int  # index of the step
    later: int
    target: str
    orders: bool = False  # by a lock, a wake-up, a join: it was made to be so


class Explanation(msgspec.Struct, frozen=True):
    """A trace, and what matters in it.

    Args:
        trace: to be read: its objects have the names that the code gives them. What is replayed is the one as saved.
        matters: indices of the steps that do.
        about: names of what the failure is about; `conflicts` are on these, and on what orders steps.
        story: what happened, a sentence each; the last one says what came of it.
        names: what objects are called in it, and by the runtime: "Pump.lock" is "lock1"; faults name the latter.
    """

    trace: Trace
    matters: tuple[int, ...]
    about: tuple[str, ...]
    conflicts: tuple[Conflict, ...]
    story: tuple[str, ...]
    names: dict[str, str] = {}


def whose_value(step: Step, access: Access) -> str:
    """Name what the value of an access is that of: for one item of a container, the container is told."""
    return access.called if access.called and step.action.startswith("item.") else access.target


def in_words(faults: Sequence[str]) -> str:
    """List what could go wrong, as it was asked for: "kill:worker, explored timers"."""
    return ", ".join("explored timers" if fault.startswith("timers,") else fault for fault in faults)
