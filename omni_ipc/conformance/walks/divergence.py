"""How code differs from its model."""

from __future__ import annotations

import enum

import msgspec

from omni_ipc.conformance.counterexamples.replay import Difference
from omni_ipc.conformance.graphs.graph import Edge, Label


class Kind(enum.StrEnum):
    """The ways in which it can."""

    MISSING = "missing action"  # the model takes it, and the code cannot: the code is too strict
    UNEXPECTED = "unexpected action"  # the code can take it, and the model does not: the code is too lax
    WRONG = "wrong state"
    CHANGED = "failed call changed state"  # in the model the step leaves everything as it is
    STUCK = "stuck"  # the code failed, does not come to rest, or does not end
    NEVER = "never taken"  # the model leaves open which state follows, and the code never chose this one


class Divergence(msgspec.Struct, frozen=True):
    """The first difference in a run."""

    kind: Kind
    path: tuple[Edge, ...]  # from an initial state; the last one led to a wrong state, if that is the difference
    label: Label | None  # the step that is missing, unexpected or wrong
    why: str  # a sentence
    where: str | None = None  # the place in the code, if it was looked for
    differences: tuple[Difference, ...] = ()

    def __str__(self) -> str:
        step = f" {self.label}" if self.label else ""
        where = f", at {self.where}" if self.where else ""
        return f"{self.kind}{step}{where}: {self.why}"


class Diverged(Exception):
    """Ends a walk."""

    def __init__(self, divergence: Divergence) -> None:
        super().__init__(str(divergence))
        self.divergence = divergence
