"""A scenario under control, as conformance drives it along the trace of a model."""

from __future__ import annotations

from omni_ipc.conformance.counterexamples.replay import Followed, follow
from omni_ipc.records import Trace
from omni_ipc.scenarios import Parts, Scenario
from omni_ipc.values import from_itf
from omni_ipc.workflows.walking import WorldRuns


def follow_model(trace: Trace, scenario: Scenario, parts: Parts) -> Followed:
    """Drive a scenario's code along a model's trace, its state compared with the model's after each step."""
    initial = {name: from_itf(value) for name, value in (trace.initial or {}).items()}
    with WorldRuns(scenario, parts) as runs, runs.begin(initial) as run:
        actions = {action for _, action in scenario.steps}
        return follow(trace, run, actions=actions, is_agent=scenario.is_agent)
