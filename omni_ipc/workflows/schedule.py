"""A schedule on its way: which step is next, and whether it is what a task stands before."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from omni_ipc.records import Step
from omni_ipc.seam.turn_messages import Arrive


class Conducted(msgspec.Struct, frozen=True):
    """How far a schedule was followed."""

    followed: int  # steps that were taken in their turn
    of: int
    refusal: str | None = None  # why the next step could not be taken
    passed: int = 0  # steps between regions that were not needed
    is_departure: bool = False  # the refusal is final: the step would never have come, as the code goes another way

    @property
    def whole(self) -> bool:
        """Whether every step was taken in its turn, or not needed."""
        return self.followed + self.passed == self.of


class Schedule:
    """Steps, and how many of them are done with."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps = steps
        self._at = 0
        self._passed = 0

    @property
    def next(self) -> Step | None:
        """The next step; None at the end."""
        return self._steps[self._at] if self._at < len(self._steps) else None

    def due(self, task: str) -> Step | None:
        """Give the next step of a task."""
        return next((step for step in self._steps[self._at :] if step.task == task), None)

    def take(self) -> None:
        """Go on: the next step was taken."""
        self._at += 1

    def pass_over(self) -> None:
        """Go on: the next step was not needed."""
        self._at += 1
        self._passed += 1

    def where(self) -> str:
        """Say which step is next."""
        return f"step {self._at + 1} of {len(self._steps)}, {self._steps[self._at]}"

    def outcome(self, refusal: str | None, *, is_departure: bool) -> Conducted:
        """Tell how far it was followed."""
        return Conducted(self._at - self._passed, len(self._steps), refusal, self._passed, is_departure)


_MOMENT_S = 1e-6
"""Deadlines are sums, and times differences."""


def matches(step: Step, arrival: Arrive, *, timed: bool) -> bool:
    """Tell whether a task stands before a step.

    Args:
        timed: a wait must have been up by the time of the step.
    """
    if not step.fits(arrival.action, arrival.fields) or step.expired is not (arrival.until is not None):
        return False
    return arrival.until is None or step.time is None or not timed or arrival.until <= step.time + _MOMENT_S


def is_fault(step: Step) -> bool:
    """Tell whether a step is something that goes wrong: "fault.kill(worker)"."""
    return step.action.startswith("fault.")


def place_of(arrival: Arrive) -> str:
    """Say where a task stands."""
    stands = "stands before" if arrival.until is None else f"waits until {arrival.until:g} s in"
    return f"{arrival.task} {stands} {arrival.action} at {arrival.where}"
