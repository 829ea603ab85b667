"""Models of serving and the code: a defect's counterexample is the code's, and the reference does not go along."""

from __future__ import annotations

import re
from typing import NamedTuple

import pytest

from omni_ipc.conformance.children import Children
from omni_ipc.conformance.counterexample import find_counterexample, to_trace
from omni_ipc.conformance.manifest import load
from omni_ipc.conformance.toolchain import Toolchain
from omni_ipc.records import Trace
from omni_ipc.scenarios import DEFECTS, Parts, Scenario, find
from omni_ipc.workflows.driven import follow_model


class Told(NamedTuple):
    """What becomes of a counterexample on code."""

    scenario: str
    fails: str  # how the code with the defect does
    parts: str  # where the reference parts company, and how; a pattern


TOLD = {
    "stale_reply": Told(
        "late_answer",
        "echo(2): it got the answer 1",
        r"after step 8 at answers\.py:\d+ in settle_rpc awaited is \{2\}; in the model it is \{\}",
    ),
}


@pytest.fixture(scope="module", params=TOLD)
def found(request: pytest.FixtureRequest) -> tuple[Scenario, Trace]:
    """The counterexample of a defect that the real TLC finds, as a trace of its scenario."""
    manifest = load()
    scenario = find(TOLD[request.param].scenario)
    model = manifest.counterexample_model(request.param)
    with Children() as children:
        result = find_counterexample(model, manifest, toolchain=Toolchain.find(), children=children)
    return scenario, to_trace(result, model=model, scenario=scenario.name, tasks=scenario.tasks)


def test_a_defects_counterexample_is_taken_by_the_code_with_the_defect(found: tuple[Scenario, Trace]) -> None:
    """Every step, with the state of the model after each, and then it fails."""
    scenario, trace = found
    assert trace.defect is not None
    followed = follow_model(trace, scenario, DEFECTS[trace.defect].parts)
    assert followed.reproduced, followed.way
    assert followed.failure is not None
    assert TOLD[trace.defect].fails in followed.failure.message


def test_the_reference_does_not_go_along_and_ends_well(found: tuple[Scenario, Trace]) -> None:
    """It refuses a step, or takes it and comes to another state: it says where; and nobody is harmed."""
    scenario, trace = found
    assert trace.defect is not None
    followed = follow_model(trace, scenario, Parts())
    assert followed.failure is None
    assert not followed.reproduced
    assert re.search(TOLD[trace.defect].parts, followed.way)
