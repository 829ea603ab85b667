"""Models against the manifest: the judgement on its own, and the whole manifest with the real TLC."""

from __future__ import annotations

import itertools
import time

import msgspec
import pytest

from omni_ipc.conformance.claims.check import CheckResult, Status, check, judge
from omni_ipc.conformance.models.manifest import Expect, Manifest, Model, Outcome, Role
from omni_ipc.conformance.tlc.result import Coverage, Kind, Result, State
from omni_ipc.conformance.tlc.toolchain import Toolchain
from omni_ipc.errors import UsageError
from tests.conformance.conftest import RECORDED
from tests.conformance.test_tlc import FakeJava, Sample

DESIGN = Model(
    "X/design", "X", "MCX", "x.cfg", Role.DESIGN, Outcome.SUCCESS, expect=Expect(depth=9), distinct_states=60
)
BUG = msgspec.structs.replace(
    DESIGN,
    name="X/bug/d",
    role=Role.BUG,
    result=Outcome.SAFETY,
    expect=Expect("AInv", 2),
    distinct_states=None,
    defect="d",
)
NIGHTLY = msgspec.structs.replace(DESIGN, nightly=True, expect=Expect())
BOTH = {"PumpTake": Coverage(1, 1), "PumpPut": Coverage(1, 1)}
HOLDS = Result(Kind.SUCCESS, "", distinct=60, search_depth=9, actions={"PumpTake": Coverage(1, 1)})
FAILS = Result(Kind.INVARIANT, "", name="AInv", trace=(State(None, {}), State("PumpTake", {})))


def replace(result: Result, **changes: object) -> Result:
    return msgspec.structs.replace(result, **changes)


@pytest.mark.parametrize(
    ("model", "result", "reason"),
    [
        (DESIGN, HOLDS, "holds in all 60 states, to depth 9: no stuck state, and each of 1 actions is taken."),
        (msgspec.structs.replace(DESIGN, role=Role.LIVE), HOLDS, "holds in all 60 states, under fairness."),
        (NIGHTLY, replace(HOLDS, actions={}), "holds in all 60 states: no stuck state."),
        (BUG, FAILS, "AInv fails at depth 2, as it must."),
        (msgspec.structs.replace(BUG, role=Role.REACH), FAILS, "is reachable in 1 steps."),
    ],
)
def test_what_is_as_expected_says_what_was_found(model: Model, result: Result, reason: str) -> None:
    """One sentence, with the numbers."""
    assert judge(model, ["PumpTake"], result) == (Status.EXPECTED, reason)


@pytest.mark.parametrize(
    ("model", "result", "reason"),
    [
        (DESIGN, FAILS, "it should end in success, but AInv fails at depth 2."),
        (DESIGN, replace(FAILS, kind=Kind.DEADLOCK, name=None), "but a stuck state was found at depth 2."),
        (DESIGN, replace(HOLDS, search_depth=8), "the depth is 8, and 9 in the manifest."),
        (DESIGN, replace(HOLDS, distinct=61), "there are 61 distinct states, and 60 in the manifest."),
        (DESIGN, replace(HOLDS, actions={"PumpTake": Coverage(0, 0)}), "never taken: PumpTake."),
        (replace(DESIGN, leaves_out=("PumpTake",)), HOLDS, "the manifest leaves them out here: PumpTake."),
        (DESIGN, replace(HOLDS, actions={}), "the manifest names PumpTake, which Next does not have."),
        (DESIGN, replace(HOLDS, actions=BOTH), "Next has PumpPut, which the manifest does not name."),
        (
            DESIGN,
            replace(FAILS, kind=Kind.DEADLOCK, name=None, actions={"PumpPut": Coverage(1, 1)}),
            "at depth 2; the manifest names PumpTake, which Next does not have; Next has PumpPut, which",
        ),
        (BUG, HOLDS, "it should end in safety failure, but nothing fails."),
        (BUG, replace(FAILS, name="OtherInv"), "AInv should fail, but OtherInv did."),
        (BUG, replace(FAILS, trace=(*FAILS.trace, State("PumpTake", {}))), "the depth is 3, and 2 in the manifest."),
        (BUG, replace(FAILS, kind=Kind.TEMPORAL), "it should end in safety failure, but AInv fails at depth 2."),
        (BUG, replace(FAILS, kind=Kind.ASSUMPTION), "assumption false: AInv"),
    ],
)
def test_what_is_not_as_expected_says_why(model: Model, result: Result, reason: str) -> None:
    """A must-fail model that holds is as wrong as a design that fails; so are other numbers and dead actions."""
    status, why = judge(model, ["PumpTake"], result)
    assert status is Status.UNEXPECTED
    assert reason in why


@pytest.mark.parametrize("model", [DESIGN, BUG], ids=["must hold", "must fail"])
@pytest.mark.parametrize("kind", [Kind.TRUNCATED, Kind.EVALUATION])
def test_a_run_without_a_verdict_is_inconclusive(model: Model, kind: Kind) -> None:
    """Neither a success nor the expected failure."""
    assert judge(model, ["PumpTake"], Result(kind, "the words")) == (Status.INCONCLUSIVE, f"{kind}: the words")


def test_results_come_in_order_with_progress(sample: Sample, fake_java: FakeJava) -> None:
    """Whichever ends first; each tells the bounds within which it speaks."""
    model, manifest = sample(cfg="success.cfg")
    models = [msgspec.structs.replace(model, name=f"Sample/{number}") for number in range(5)]
    seen: list[tuple[int, int]] = []
    begun: list[str] = []
    results = check(
        models,
        manifest,
        toolchain=fake_java(f"cat {RECORDED}/success.out"),
        jobs=3,
        begins=lambda model: begun.append(model.name),
        progress=lambda done, total, latest: seen.append((done, total)),
    )
    assert [result.model for result in results] == models
    assert sorted(begun) == [model.name for model in models]
    assert seen == [(done, 5) for done in range(1, 6)]
    assert results[0].bounds == 'Node = "n1", Limit = 3'
    assert results[0].status is Status.UNEXPECTED
    assert results[0].reason.startswith("never taken: Never.")


def test_of_models_for_the_night_one_is_checked_at_a_time(sample: Sample, fake_java: FakeJava) -> None:
    """Each takes half of the memory; others go on beside it. How far each has come is told with its model."""
    model, manifest = sample(cfg="success.cfg")
    models = [msgspec.structs.replace(model, name=f"Sample/{number}", nightly=number < 3) for number in range(5)]
    told: list[tuple[str, int]] = []
    check(
        models,
        manifest,
        toolchain=fake_java(f"cat {RECORDED}/night.out"),
        jobs=5,
        begins=lambda model: told.append((model.name, 0)),
        reaches=lambda model, reached: told.append((model.name, reached.distinct)),
    )
    of_one = {model.name: [(model.name, distinct) for distinct in (0, 612_081, 1_294_052)] for model in models}
    assert sorted(told) == sorted(itertools.chain(*of_one.values()))
    by_night = [each for each in told if each[0] in [model.name for model in models[:3]]]
    order = [name for name, distinct in by_night if distinct == 0]
    assert by_night == list(itertools.chain(*(of_one[name] for name in order)))


def test_a_broken_module_ends_the_check(sample: Sample, fake_java: FakeJava) -> None:
    """There is nothing to compare: it is an error of usage, with file and line."""
    model, manifest = sample("Broken", "plain.cfg")
    with pytest.raises(UsageError, match=r"Broken\.tla:5: Unknown operator"):
        check([model] * 3, manifest, toolchain=fake_java(f"cat {RECORDED}/Broken.out"))


@pytest.mark.timeout(900)
def test_every_model_of_the_manifest_is_as_expected(
    manifest: Manifest, toolchain: Toolchain, capsys: pytest.CaptureFixture[str]
) -> None:
    """The real TLC, two at a time: designs hold, defects fail on their property, probes reach their state."""
    started = time.monotonic()
    results = check(manifest.select(), manifest, toolchain=toolchain, jobs=2)
    with capsys.disabled():
        print(f" [{len(results)} models in {time.monotonic() - started:.1f} s] ", end="")
    assert [_line(result) for result in results if result.status is not Status.EXPECTED] == []


def _line(result: CheckResult) -> str:
    return f"{result.model.name}: {result.status}: {result.reason}"
