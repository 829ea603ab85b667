"""Driving code along the trace of a model.

A workflow hands in something that can be driven: the tasks of a scenario under a controlled runtime. The code takes
finer steps than the model; steps that the model does not speak of are *internal*, and are taken at once, as long as
there are any: the states of the model are those in between. Time passes only where the trace has to wait for it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

import msgspec

from omni_ipc.records import Failure, Field, Step, Trace
from omni_ipc.values import from_itf, normal, show


class Offer(Protocol):
    """The next operation of one task."""

    @property
    def task(self) -> str: ...
    @property
    def action(self) -> str:
        """A region's name, or a primitive operation."""

    @property
    def fields(self) -> Mapping[str, Field]: ...
    @property
    def enabled(self) -> bool: ...
    @property
    def blocked_on(self) -> str | None:
        """What a task that is not enabled waits for."""

    @property
    def where(self) -> str | None:
        """The place in the code, "outputs.py:88 in deliver", if it is known."""


class Driven(Protocol):
    """Code that stops before each operation."""

    def offers(self) -> Sequence[Offer]:
        """The next operation of every living task."""

    def take(self, task: str) -> None:
        """Perform the task's next operation and go on to the one after it."""

    def pass_time(self) -> bool:
        """Let the next deadline come, if there is one, and nobody can go on before it."""

    def state(self) -> Mapping[str, object]:
        """The state of the code as variables of the model; those that it leaves out are not compared."""

    def finish(self) -> Failure | None:
        """Let everything run to its end in default order."""


class Difference(msgspec.Struct, frozen=True):
    """One variable that is not as the model has it."""

    variable: str
    expected: str
    found: str

    def __str__(self) -> str:
        return f"{self.variable} is {self.found}; in the model it is {self.expected}"


class Departure(msgspec.Struct, frozen=True):
    """The first step after which code and model differ."""

    step: int  # counts from 1
    where: str  # the place of the step in the code
    differences: tuple[Difference, ...]


class Refusal(msgspec.Struct, frozen=True):
    """The step that the code does not take."""

    step: int  # counts from 1
    wanted: Step
    why: str
    where: str | None  # the place in the code at which the task is instead


class Followed(msgspec.Struct, frozen=True):
    """How far the code went along, and how it ended when left alone then."""

    steps: int  # steps of the trace that the code took
    places: tuple[str, ...]  # the place in the code of each of them
    refusal: Refusal | None = None
    departure: Departure | None = None
    failure: Failure | None = None
    rests: bool = False  # behind the last step, nobody could do anything that the model speaks of

    @property
    def went_along(self) -> bool:
        """The code took every step, and showed every state."""
        return self.refusal is None and self.departure is None

    @property
    def reproduced(self) -> bool:
        """The code took every step, showed every state, and failed."""
        return self.went_along and self.failure is not None

    @property
    def way(self) -> str:
        """One sentence: how far, and where it departed."""
        if self.refusal is not None:
            where = f" at {self.refusal.where}" if self.refusal.where else ""
            return f"Step {self.refusal.step}, {self.refusal.wanted}, was refused{where}: {self.refusal.why}."
        if self.departure is not None:
            first = self.departure.differences[0]
            where = f"step {self.departure.step} at {self.departure.where}"
            return f"All {self.steps} steps ran, but after {where} {first}."
        return f"All {self.steps} steps ran, with the state of the model after each."


_IN_NOTHING = frozenset[str]().__contains__


def follow(
    trace: Trace,
    driven: Driven,
    *,
    actions: Collection[str],
    is_agent: Callable[[str], bool] = _IN_NOTHING,
    internal_steps: int = 1000,
) -> Followed:
    """Drive code along a trace, then let it run to its end.

    Args:
        actions: the regions that the model speaks of; every other operation is internal.
        is_agent: tells those of what the model has actions for: whatever one of them does next is its step.
        internal_steps: how many internal operations may pass on end.
    """
    spoken = _Spoken(frozenset(actions), is_agent)
    places: list[str] = []
    refusal = departure = None
    for number, step in enumerate(trace.steps, start=1):
        try:
            where = _reach(step, driven, spoken, internal_steps).where or "an unknown line"
        except _Refused as refused:
            refusal = Refusal(number, step, refused.why, refused.where)
            break
        driven.take(step.task)
        _settle(driven, spoken, internal_steps)
        places.append(where)
        if departure is None and (differences := tuple(_differences(step, driven.state()))):
            departure = Departure(number, where, differences)
    rests = not any(offer.enabled and spoken.holds(offer) for offer in driven.offers())
    return Followed(len(places), tuple(places), refusal, departure, rests=rests, failure=driven.finish())


class _Spoken(NamedTuple):
    """What a model speaks of."""

    actions: frozenset[str]
    is_agent: Callable[[str], bool]

    def holds(self, offer: Offer) -> bool:
        return offer.action in self.actions or self.is_agent(offer.task)

    def fits(self, step: Step, offer: Offer) -> bool:
        return self.is_agent(offer.task) or step.fits(offer.action, offer.fields)


class _Refused(Exception):
    def __init__(self, why: str, where: str | None) -> None:
        super().__init__(why)
        self.why = why
        self.where = where


def _reach(step: Step, driven: Driven, spoken: _Spoken, internal_steps: int) -> Offer:
    """Let the code come to rest, and time pass, until the step is offered."""
    while _settle(driven, spoken, internal_steps):
        wanted = next((offer for offer in driven.offers() if offer.task == step.task), None)
        matches = wanted is not None and spoken.fits(step, wanted)
        if wanted is not None and matches and wanted.enabled:
            return wanted
        elsewhere = wanted is not None and spoken.holds(wanted) and not matches
        if elsewhere or not driven.pass_time():
            raise _Refused(_reason(wanted, step), wanted.where if wanted else None)
    raise _Refused(f"it did not come within {internal_steps} operations that the model does not speak of", None)


def _settle(driven: Driven, spoken: _Spoken, internal_steps: int) -> bool:
    """Take internal operations until there are none; tell whether they have come to an end."""
    for _ in range(internal_steps):
        internal = next((offer for offer in driven.offers() if offer.enabled and not spoken.holds(offer)), None)
        if internal is None:
            return True
        driven.take(internal.task)
    return False


def _reason(offer: Offer | None, step: Step) -> str:
    if offer is None:
        return f"the task '{step.task}' has ended, or never began"
    fields = ", ".join(f"{name}={value}" for name, value in offer.fields.items())
    instead = f"'{step.task}' is at {offer.action}({fields})"
    if not offer.enabled:
        return f"{instead} and waits for {offer.blocked_on or 'something that does not come'}"
    return f"{instead} instead"


def _differences(step: Step, found: Mapping[str, object]) -> Iterator[Difference]:
    for variable, encoded in (step.state or {}).items():
        expected = from_itf(encoded)
        if variable in found and (actual := normal(found[variable])) != expected:
            yield Difference(variable, show(expected), show(actual))
