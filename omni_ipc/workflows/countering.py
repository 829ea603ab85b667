"""Counterexamples of bug models on code: with the defect it goes the same way, and without it does not.

bug model ─ TLC ─► counterexample ─► steps of tasks ─┬─► the code with the defect: each step, each state
                                                     └─► the reference: refused, elsewhere, or it ends well
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from omni_ipc.conformance.counterexamples.counterexample import find_counterexample, to_trace
from omni_ipc.conformance.counterexamples.replay import Followed
from omni_ipc.conformance.models.manifest import Manifest, Model, Role, load
from omni_ipc.conformance.processes.children import Children
from omni_ipc.conformance.tlc.result import Result
from omni_ipc.conformance.tlc.toolchain import Toolchain
from omni_ipc.errors import UsageError
from omni_ipc.records import Trace, Verdict
from omni_ipc.scenarios import KNOWN, SCENARIOS, Scenario
from omni_ipc.workflows.driven import follow_model

ROUNDS = 3
"""How often a lasso is walked: that its state comes again is seen each time."""


class Countered(msgspec.Struct, frozen=True):
    """What became of one counterexample."""

    model: str
    defect: str
    verdict: Verdict  # of the claim that code goes the way of the counterexample if, and only if, it has the defect
    scenario: str | None = None  # None: no code is at the model's grain
    steps: int = 0
    rounds: int = 0  # of a lasso
    with_defect: str = ""  # what became of the code with the defect, a sentence or two
    reference: str = ""
    has_code: bool = False  # else the fault is the spec's alone, and only the reference was driven
    trace: Trace | None = None


Progress = Callable[[str, int, int], object]
"""Called with a model that comes next, how many are done, and how many there are."""


def counter_models(names: Sequence[str], *, progress: Progress = lambda *_: None) -> tuple[Countered, ...]:
    """Try the counterexamples of all bug models whose names begin with ``names`` on code.

    Raises:
        UnknownName: a name selects no model.
        UsageError: it selects none that has a counterexample of a defect; or a module or cfg is broken.
        EnvironmentMissing: there is no Java, or no TLC.
        Inconclusive: TLC did not come to its end, or the code was not under control.
    """
    manifest = load()
    chosen = manifest.select(names)
    models = [model for model in chosen if model.role is Role.BUG]
    if not models:
        raise UsageError(
            f"'{chosen[0].name}' has no defect, so there is no counterexample to try on code. "
            f"Name a model of a defect: omni-ipc replay {chosen[0].spec}/bug."
        )
    toolchain = Toolchain.find()
    countered = []
    with Children() as children:
        for done, model in enumerate(models):
            progress(model.name, done, len(models))
            countered.append(_counter(model, manifest, toolchain, children))
    return tuple(countered)


def names_model(name: str) -> bool:
    """Tell whether a word is the name of a model, or its front part, and not a misspelt file."""
    return name.partition("/")[0] in load().specs


def scenario_of(model: Model) -> Scenario | None:
    """The scenario at the grain of a model: that in which its defect shows, if there are several."""
    known = KNOWN.get(model.defect or "")
    showing = {known.scenario, *known.also} if known else set()
    scenarios = [scenario for scenario in SCENARIOS.values() if scenario.model == model.spec]
    return next((scenario for scenario in scenarios if scenario.name in showing), next(iter(scenarios), None))


def _counter(model: Model, manifest: Manifest, toolchain: Toolchain, children: Children) -> Countered:
    assert model.defect is not None, "the manifest says so of a bug model"
    scenario = scenario_of(model)
    if scenario is None:
        why = f"No scenario is at the grain of {model.spec}."
        return Countered(model.name, model.defect, Verdict.INCONCLUSIVE, with_defect=why)
    result = find_counterexample(model, manifest, toolchain=toolchain, children=children)
    trace = to_trace(
        result, model=model, scenario=scenario.name, tasks=scenario.tasks, agents=scenario.agents, rounds=ROUNDS
    )
    shown, with_defect = _with_defect(model.defect, trace, scenario, result)
    spared, reference = _without(trace, scenario, result)
    return Countered(
        model=model.name,
        defect=model.defect,
        verdict=Verdict.HOLDS if shown and spared else Verdict.VIOLATED,
        scenario=scenario.name,
        steps=len(trace.steps),
        rounds=ROUNDS if result.closing else 0,
        with_defect=with_defect,
        reference=reference,
        has_code=_has_code(model.defect, scenario),
        trace=trace,
    )


def _has_code(defect: str, scenario: Scenario) -> bool:
    known = KNOWN.get(defect)
    return known is not None and scenario.name in (known.scenario, *known.also)


def _with_defect(defect: str, trace: Trace, scenario: Scenario, result: Result) -> tuple[bool, str]:
    """Whether the code with the defect does as the counterexample; of a mutant of the spec alone there is no such code.

    It goes all the way. Then it fails; but where a lasso goes round, or nothing more happens, that alone is the harm.
    """
    known = KNOWN.get(defect)
    if known is None:
        return True, "No code has this fault."
    if scenario.name not in (known.scenario, *known.also):
        elsewhere = [model for name in (known.scenario, *known.also) if (model := SCENARIOS[name].model)]
        where = f"; it is driven along {elsewhere[0]}" if elsewhere else ""
        return bool(elsewhere), f"No code has this fault at the grain of the model{where}."
    followed = follow_model(trace, scenario, known.parts)
    if not followed.went_along:
        return False, followed.way + _ending(followed)
    if result.closing is not None:
        return True, f"{followed.way} Its state comes again in each of {ROUNDS} rounds.{_failing(followed)}"
    if result.loop is not None and followed.rests:
        return True, f"{followed.way} There it stays.{_failing(followed)}"
    return followed.failure is not None, followed.way + _ending(followed)


def _without(trace: Trace, scenario: Scenario, result: Result) -> tuple[bool, str]:
    """Whether the reference is spared: it ends well, and does not come to the bad state on the way."""
    followed = follow_model(trace, scenario, scenario.parts(None))
    in_bad_state = followed.went_along and (result.loop is None or (result.closing is None and followed.rests))
    return followed.failure is None and not in_bad_state, followed.way + _ending(followed)


def _ending(followed: Followed) -> str:
    return _failing(followed) or " Then it ends well."


def _failing(followed: Followed) -> str:
    return f" Then it fails: {followed.failure}." if followed.failure else ""
