"""One run of code beside a state of its model: brought to rest, held against it, moved by a step of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from omni_ipc.conformance.counterexamples.replay import Difference, Offer
from omni_ipc.conformance.graphs.graph import Edge, Label
from omni_ipc.conformance.walks.divergence import Diverged, Divergence, Kind
from omni_ipc.conformance.walks.reference import Reference
from omni_ipc.errors import UsageError
from omni_ipc.records import Failure
from omni_ipc.values import Value, normal, show

_MOST_INTERNAL = 2_000
_MOST_DEADLINES = 50


class Run(Protocol):
    """One run of code that stops before each operation."""

    def enabled(self) -> Sequence[Offer]:
        """The operations that can be performed now, by the age of their tasks; their places in code may be missing."""

    def offers(self) -> Sequence[Offer]:
        """The next operation of every living task, with its place in code."""

    def take(self, task: str) -> None:
        """Perform the task's next operation and go on to the one after it."""

    def pass_time(self) -> bool:
        """Let the next deadline come, if there is one, and nobody can go on before it."""

    def state(self) -> Mapping[str, object]:
        """The variables of the model, but for ghosts."""

    def finish(self) -> Failure | None:
        """Let everything run to its end in default order."""

    @property
    def failure(self) -> Failure | None:
        """Why the run has ended before its time."""


Choose = Callable[[Sequence[Offer]], Offer]
"""Chooses the internal step that comes first."""


class Stand:
    """A run, and the steps of the model that it has taken.

    Args:
        choose: which internal step comes first.
        located: tell places in code, at some cost.

    Attributes:
        walked: the steps of the model so far.
        steps: of the code so far.
    """

    def __init__(self, run: Run, reference: Reference, choose: Choose, *, located: bool = False) -> None:
        self.walked: list[Edge] = []
        self.steps = 0
        self._run = run
        self._reference = reference
        self._choose = choose
        self._located = located
        self._where: str | None = None
        self._label: Label | None = None
        self._unknown: Offer | None = None  # an internal step since the last visible one that is called like a step

    def begin(self, state: int) -> None:
        """Bring the run to rest, and hold it against an initial state.

        Raises:
            Diverged: it is in another one.
        """
        offers = self._settle()
        if not self._agrees(state, found := self._project()):
            raise self._diverged(Kind.WRONG, "The code begins in another state.", self._differences(state, found))
        self._meet(state, offers)

    def chosen(self, place: int) -> int:
        """Give the step that the code can take instead of this one, if the choice among several is the code's."""
        edges = self._reference.graph.edges
        action = edges[place].label.action
        if action not in self._reference.choices:
            return place
        offers = self._run.enabled()
        likewise = (
            other for other in self._reference.steps[edges[place].source] if edges[other].label.action == action
        )
        return next(
            other
            for other in (place, *likewise)
            if any(self._reference.moves.of[edges[other].label].fits(offer) for offer in offers)
        )

    def take(self, place: int) -> int:
        """Let the code take a step of the model, hold it against the state that follows, and return which step it was.

        Raises:
            Diverged: it cannot, or comes to another state, or can do there what the model does not do, or cannot.
        """
        graph = self._reference.graph
        edge = graph.edges[place]
        move = self._reference.moves.of[edge.label]
        self._label, self._unknown = edge.label, None
        if self._located:
            self._where = next((offer.where for offer in self._run.offers() if offer.task == move.task), None)
        self.walked.append(edge)
        self._perform(move.task)
        offers = self._settle()
        found = self._project()
        alike = self._reference.alike(place)
        arrived = next((at for at in alike if self._agrees(graph.edges[at].target, found)), None)
        if arrived is None:
            changed = edge.source == edge.target and len(alike) == 1
            differences = self._differences(edge.target, found)
            why = f"{differences[0]}."
            raise self._diverged(Kind.CHANGED if changed else Kind.WRONG, why, differences)
        self.walked[-1] = graph.edges[arrived]
        self._label = self._where = None
        self._meet(graph.edges[arrived].target, offers)
        return arrived

    def end(self, state: int) -> None:
        """Let the code run to its end, if the model's system is finished.

        Raises:
            Diverged: it does not end, or fails.
        """
        if self._reference.is_over(state) and (failure := self._run.finish()) is not None:
            raise self._diverged(Kind.STUCK, f"In the model all is done here; left alone, the code fails: {failure}.")

    def _settle(self) -> Sequence[Offer]:
        """Take internal steps until there are none; give what can be done then."""
        visible = self._reference.moves.is_visible
        for _ in range(_MOST_INTERNAL):
            offers = self._run.enabled()
            internal = [offer for offer in offers if not visible(offer.task, offer.action)]
            if not internal:
                break
            chosen = self._choose(internal) if len(internal) > 1 else internal[0]
            if self._reference.moves.is_unknown(chosen.action):
                self._unknown = chosen
            self._perform(chosen.task)
        else:
            raise self._diverged(
                Kind.STUCK,
                f"The code does not come to rest: after {_MOST_INTERNAL:,} steps that the model does not speak of, "
                f"'{internal[0].task}' still is at {internal[0].action}.",
            )
        if self._run.failure is not None:
            raise self._diverged(Kind.STUCK, f"The code failed: {self._run.failure}.")
        return offers

    def _perform(self, task: str) -> None:
        self._run.take(task)
        self.steps += 1

    def _meet(self, state: int, offers: Sequence[Offer]) -> None:
        """Hold the steps that the code can take against those of the model."""
        wanted = self._reference.labels[state]
        for _ in range(_MOST_DEADLINES):
            if not wanted or offers or not self._run.pass_time():
                break
            offers = self._settle()
            if not self._agrees(state, found := self._project()):
                raise self._diverged(
                    Kind.WRONG, "Time passed, and the state is another.", self._differences(state, found)
                )
        offered: set[Label] = set()
        for offer in offers:
            fitting = self._reference.moves.fitting(offer, wanted)
            if not fitting:
                raise self._unexpected(offer, state)
            offered.update(fitting)
        for label in sorted(wanted - offered):
            if not self._reference.may_be_missing(label, offered):
                raise self._missing(label)

    def _unexpected(self, offer: Offer, state: int) -> Diverged:
        fields = ", ".join(f"{name}={show(normal(value))}" for name, value in offer.fields.items())
        able = ", ".join(sorted(map(str, self._reference.labels[state]))) or "nothing"
        self._where = next((other.where for other in self._run.offers() if other.task == offer.task), None)
        self._label = None
        tasks = self._reference.moves.tasks
        stranger = "" if offer.task in tasks else f", and is none of the scenario's tasks ({', '.join(sorted(tasks))})"
        return self._diverged(
            Kind.UNEXPECTED,
            f"The task '{offer.task}' can take {offer.action}({fields}){stranger}; the model can take {able}.",
        )

    def _missing(self, label: Label) -> Diverged:
        move = self._reference.moves.of[label]
        offer = next((offer for offer in self._run.offers() if offer.task == move.task), None)
        self._label, self._where = label, offer.where if offer else None
        if offer is None:
            return self._diverged(Kind.MISSING, f"The task '{move.task}' has ended, or never began.")
        if move.action == offer.action and not offer.enabled:
            return self._diverged(Kind.MISSING, f"The task '{offer.task}' waits for {offer.blocked_on}.")
        fields = ", ".join(f"{name}={show(normal(value))}" for name, value in offer.fields.items())
        waits = "" if offer.enabled else f" and waits for {offer.blocked_on}"
        return self._diverged(Kind.MISSING, f"The task '{offer.task}' is at {offer.action}({fields}) instead{waits}.")

    def _project(self) -> list[object]:
        """Give the values that the code shows, in the order of the model's variables.

        Raises:
            UsageError: it raises; or a variable is shown that the model does not have, or is not, and is no ghost.
        """
        try:
            found = dict(self._run.state())
        except (Exception, SystemExit) as error:
            raise UsageError(
                f"The projection raised {type(error).__name__}: {error}, after {self._way()}. "
                "Correct the world's project()."
            ) from error
        ghosts, names = self._reference.ghosts, self._reference.names
        if len(found) != len(names) or any(name not in found for name in names):
            unknown, lost = sorted(found.keys() - set(names)), sorted(set(names) - found.keys())
            beyond = f"shows {', '.join(unknown)} beyond the model" if unknown else ""
            lacks = f"lacks {', '.join(lost)}" if lost else ""
            marked = f", as {', '.join(sorted(ghosts))}" if ghosts else ""
            raise UsageError(
                f"The projection {' and '.join(filter(None, (beyond, lacks)))}. Let project() give each variable of "
                f"the model that is not marked (* ghost *){marked}, and no other."
            )
        return [found[name] for name in names]

    def _agrees(self, state: int, found: Sequence[object]) -> bool:
        """Tell whether what the code shows is a state.

        Raises:
            UsageError: it shows what is none of TLA+'s values; tells the variable.
        """
        try:
            return self._reference.agrees(state, found)
        except UsageError:
            for name, value in zip(self._reference.names, found, strict=True):
                _value(name, value)
            raise

    def _differences(self, state: int, found: Sequence[object]) -> tuple[Difference, ...]:
        graph = self._reference.graph
        return tuple(
            Difference(graph.variables[place], show(graph.states[state][place]), show(value))
            for place, value in zip(self._reference.shown, map(_value, self._reference.names, found), strict=True)
            if graph.states[state][place] != value
        )

    def _diverged(self, kind: Kind, why: str, differences: tuple[Difference, ...] = ()) -> Diverged:
        if (unknown := self._unknown) is not None:
            why = f"{why} Meanwhile '{unknown.task}' went through {unknown.action}, which is no action of the model."
        return Diverged(Divergence(kind, tuple(self.walked), self._label, why, self._where, differences))

    def _way(self) -> str:
        return ", ".join(str(edge.label) for edge in self.walked) or "no step"


def _value(name: str, shown: object) -> Value:
    try:
        return normal(shown)
    except UsageError as error:
        raise UsageError(f"The projection's {name}: {error}") from None
