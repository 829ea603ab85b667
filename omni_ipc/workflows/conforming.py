"""Scenarios walked along every step of their models' state graphs: code and model shown to do the same."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from omni_ipc.conformance.models import manifest as manifests
from omni_ipc.conformance.models.manifest import Role
from omni_ipc.conformance.processes.children import Children
from omni_ipc.conformance.walks.divergence import Divergence
from omni_ipc.conformance.walks.reference import Reference
from omni_ipc.conformance.walks.walk import Order, Walker, never_taken, shortest
from omni_ipc.conformance.walks.walked import failure_of, to_path, to_trace
from omni_ipc.errors import UsageError
from omni_ipc.records import Failure, Trace, Verdict
from omni_ipc.workflows.subjects import Subject, chosen_scenarios, find_scenario
from omni_ipc.workflows.walking import WorldRuns

LEAST_ROUNDS = 3
LEAST_STEPS = 8_000
"""Of code, for each model: what is small is walked more often, each time with internal steps in another order."""

SECONDS = 15.0
_LONGEST_SHRINKING_S = 10.0


class WalkedAction(msgspec.Struct, frozen=True):
    """How much of an action was walked."""

    action: str
    taken: int  # steps of the graph
    of: int
    times: int  # that they were taken, together


class WalkedModel(msgspec.Struct, frozen=True):
    """What walking a scenario along its model's graph came to."""

    model: str
    scenario: str
    verdict: Verdict
    reason: str  # a sentence
    states: int
    edges: int  # steps that the code can be asked to take
    taken: int  # of them, at least once
    rounds: int  # how often all of it was walked, each time with internal steps in another order
    runs: int
    steps: int  # of the code, internal ones included
    actions: tuple[WalkedAction, ...]
    times: tuple[int, ...]  # that each step was taken, in the order of the graph's file; the end of a run is none
    graph: str  # where it is from
    seconds: float
    failure: Failure | None = None
    trace: Trace | None = None  # of the divergence, shrunk


class Conformed(msgspec.Struct, frozen=True):
    """All models that were asked for."""

    models: tuple[WalkedModel, ...]
    not_walked: tuple[str, ...] = ()  # specs without a state graph for code, if all were asked for

    @property
    def verdict(self) -> Verdict:
        """Of all together: one divergence decides, then one model of which nothing was walked."""
        found = {model.verdict for model in self.models}
        return next((v for v in (Verdict.VIOLATED, Verdict.INCONCLUSIVE) if v in found), Verdict.BOUNDED)


Progress = Callable[[WalkedModel | None, int, int], object]
"""Called with the model that is done (None before the first), how many are done, and how many there are."""


def conform(
    names: Sequence[str] = (),
    *,
    defect: str | None = None,
    seconds: float = SECONDS,
    progress: Progress = lambda *_: None,
) -> Conformed:
    """Walk scenarios along the state graphs of their models, or all that have one.

    Args:
        names: of specs, or of scenarios; or "path/to/file.py:function", which makes a scenario of one's own.
        defect: walk the code with this field defect; then it should diverge.
        seconds: of computing, for one model, at most; what they did not suffice for is told.

    Raises:
        UnknownName: a name is neither a spec with a scenario and a graph, nor such a scenario; or there is no defect.
        UsageError: model and scenario do not fit together; or the defect shows in another scenario.
        EnvironmentMissing: a graph must be made anew, and there is no TLC.
    """
    manifest = manifests.load()
    chosen = chosen_scenarios(names, manifest, defect)
    if not seconds > 0:
        raise UsageError(f"seconds must be positive, and is {seconds:g}. Leave it out for {SECONDS:g} a model.")
    done: list[WalkedModel] = []
    progress(None, 0, len(chosen))
    with Children() as children:
        for scenario in chosen:
            done.append(_walk(Subject.of(scenario, manifest, children), defect, seconds))
            progress(done[-1], len(done), len(chosen))
    without = manifest.specs.keys() - {model.spec for model in manifest.models if model.role is Role.GRAPH}
    return Conformed(tuple(done), () if names or defect else tuple(sorted(without)))


def save_divergence(trace: Trace, folder: Path) -> Path:
    """Save the trace of a divergence, which is a test, under the names of its scenario and its defect.

    Raises:
        UsageError: it cannot be saved.
    """
    defect = f".{trace.defect}" if trace.defect else ""
    name = trace.scenario.rpartition(":")[2]
    return trace.save(folder / f"{name}{defect}.conform.trace.json")


def conform_along(trace: Trace, *, defect: str | None = None) -> Failure | None:
    """Walk a scenario along the saved trace of a divergence; None if code and model agree there now.

    Raises:
        UsageError: the model no longer takes the trace's steps.
    """
    with Children() as children:
        scenario = find_scenario(trace.scenario)
        subject = Subject.of(scenario, manifests.load(), children)
    start, path = to_path(trace, subject.reference)
    with WorldRuns(scenario, scenario.parts(defect)) as runs:
        found = Walker(subject.reference, runs.begin).along(start, path)
    return None if found is None else failure_of(found, subject.reference)


def _walk(subject: Subject, defect: str | None, seconds: float) -> WalkedModel:
    began, spent = time.monotonic(), _spent(seconds)
    reference, scenario = subject.reference, subject.scenario
    todo = len(reference.graph.edges) - len(reference.termination)
    times: Counter[int] = Counter()
    never: set[int] = set()
    found: Divergence | None = None
    runs = steps = rounds = 0
    with WorldRuns(scenario, scenario.parts(defect)) as code:
        for seed in itertools.count():
            walker = Walker(reference, code.begin, order=_order(seed), seed=seed)
            found = walker.cover(enough=spent)
            times += walker.times
            never |= walker.never
            rounds += len(walker.taken) == todo
            runs, steps = runs + walker.runs, steps + walker.steps
            is_enough = seed + 1 >= LEAST_ROUNDS and steps >= LEAST_STEPS
            if found is not None or is_enough or spent():
                break
        if found is not None:
            found = shortest(walker, found, reference, _spent(_LONGEST_SHRINKING_S))
    found = found or next((never_taken(place, reference) for place in sorted(never - times.keys())), None)
    taken = len(times)
    return WalkedModel(
        model=subject.model,
        scenario=scenario.name,
        verdict=Verdict.VIOLATED if found else Verdict.BOUNDED if taken else Verdict.INCONCLUSIVE,
        reason=f"{found}" if found else _reason(taken, todo, rounds),
        states=len(reference.graph.states),
        edges=todo,
        taken=taken,
        rounds=rounds,
        runs=runs,
        steps=steps,
        actions=_actions(reference, times),
        times=tuple(times[place] for place in range(len(reference.graph.edges))),
        graph=subject.graph_from,
        seconds=time.monotonic() - began,
        failure=failure_of(found, reference) if found else None,
        trace=to_trace(found, reference, model=subject.model, scenario=scenario.name, defect=defect) if found else None,
    )


def _order(number: int) -> Order:
    """Give the order of a round: the two extremes, then others."""
    return (Order.OLDEST, Order.YOUNGEST)[number] if number < 2 else Order.DRAWN


def _spent(seconds: float) -> Callable[[], bool]:
    """Tell from now on whether so many seconds were spent; of computing, whatever else the machine has to do."""
    end = time.process_time() + seconds
    return lambda: time.process_time() > end


def _reason(taken: int, todo: int, rounds: int) -> str:
    if not taken:
        return f"None of {todo:,} steps was walked: there was no time. Give it more: --seconds."
    if taken < todo:
        return f"{taken:,} of {todo:,} steps were walked ({taken / todo:.0%}), and agreed; there was no time for more."
    if rounds < LEAST_ROUNDS:
        return f"Each of {todo:,} steps was walked, and agreed; there was no time to walk all of them again."
    return f"Each of {todo:,} steps was walked {rounds} times, and agreed."


def _actions(reference: Reference, times: Counter[int]) -> tuple[WalkedAction, ...]:
    edges = reference.graph.edges
    all_of = Counter(edge.label.action for place, edge in enumerate(edges) if place not in reference.termination)
    walked = Counter(edges[place].label.action for place in times)
    often: Counter[str] = Counter()
    for place, count in times.items():
        often[edges[place].label.action] += count
    return tuple(WalkedAction(name, walked[name], count, often[name]) for name, count in sorted(all_of.items()))
