"""What is said of a fault that had nothing to strike: what holds with it, holds without it."""

from __future__ import annotations

_OF_THAT_NAME = (
    "there was nothing of that name in any schedule. Names are those that traces tell; threads and asyncio's tasks "
    "have theirs by name=."
)
_STRUCK = {
    "cancel": "in no schedule was there a future or an asyncio task that was not settled yet. What a loop is told to "
    "run until its end, as by asyncio.run(), is spared, unless it is named: cancel:Task-1.",
    "late": "nothing was put into a queue in any schedule.",
    "spurious": "nobody waited for a notification in any schedule.",
}
"""Kind -> why a fault of it that has no target did not happen."""


def says_what_it_strikes(fault: str) -> bool:
    """Tell whether a fault has a target, or strikes what not every scenario has; where time may pass, it is no news."""
    kind, has_target = _kind(fault)
    return has_target or kind in _STRUCK


def told_in_vain(fault: str) -> str:
    """Say of such a fault, as the command line writes it, that it was never possible, and why."""
    kind, has_target = _kind(fault)
    return f"{fault} was never possible: {_OF_THAT_NAME if has_target else _STRUCK[kind]}"


def _kind(fault: str) -> tuple[str, bool]:
    """Return the kind of a fault, and whether it has a target."""
    kind, colon, _ = fault.partition(",")[0].partition(":")
    return kind, bool(colon)
