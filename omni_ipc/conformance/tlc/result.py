"""What a run of TLC found, as values."""

from __future__ import annotations

import enum

import msgspec

from omni_ipc.values import Value, show


class Kind(enum.StrEnum):
    """How a run of TLC ended."""

    SUCCESS = "success"
    INVARIANT = "invariant violated"
    ACTION_PROPERTY = "action property violated"
    DEADLOCK = "deadlock"
    TEMPORAL = "temporal property violated"
    ASSUMPTION = "assumption false"
    EVALUATION = "evaluation error"
    SYNTAX = "broken module"
    CONFIGURATION = "broken configuration"
    TRUNCATED = "truncated"


class Coverage(msgspec.Struct, frozen=True):
    """How often an action was taken."""

    distinct: int = 0  # steps to states that were new
    generated: int = 0  # all steps; 0: the action is dead

    def __add__(self, other: Coverage) -> Coverage:
        return Coverage(self.distinct + other.distinct, self.generated + other.generated)


class Place(msgspec.Struct, frozen=True):
    """A place in a module; lines count from 1."""

    module: str
    line: int | None  # None: TLC tells none


class State(msgspec.Struct, frozen=True):
    """One state of a counterexample, and the action that led to it."""

    action: str | None  # None: it is an initial state
    variables: dict[str, Value]
    params: dict[str, Value] = {}  # known only after a labelled run

    def __str__(self) -> str:
        params = ", ".join(f"{name}={show(value)}" for name, value in self.params.items())
        return f"{self.action}({params})" if self.action else "initial state"


class Result(msgspec.Struct, frozen=True):
    """What TLC found, within the bounds of the configuration."""

    kind: Kind
    message: str  # TLC's own words
    name: str | None = None  # of what is violated
    place: Place | None = None  # of an error in a module
    generated: int = 0  # states, with repetitions
    distinct: int = 0  # states
    queue: int = 0  # of these, those whose steps were not looked at when TLC stopped
    search_depth: int | None = None  # TLC tells none after a temporal violation
    actions: dict[str, Coverage] = {}
    trace: tuple[State, ...] = ()
    loop: int | None = None  # the index in `trace` of the state that a lasso returns to
    closing: State | None = None  # the step that returns there; None: stuttering
    seconds: float = 0.0
    is_kept: bool = False  # TLC has found it some time ago

    @property
    def depth(self) -> int | None:
        """States on the way to the violation, both ends counted; of a success, the depth of the state graph."""
        return len(self.trace) or self.search_depth

    @property
    def dead(self) -> tuple[str, ...]:
        """Actions that were never taken."""
        return tuple(sorted(action for action, coverage in self.actions.items() if coverage.generated == 0))

    @property
    def summary(self) -> str:
        """What happened, in a few words."""
        return f"{self.kind.value}: {self.name}" if self.name else self.kind.value
