"""From a counterexample of TLC to a trace that code can be driven along."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from omni_ipc.conformance.counterexamples.itf import counterexample_to_itf, state_to_itf
from omni_ipc.conformance.models.manifest import Manifest, Model
from omni_ipc.conformance.processes.children import Children
from omni_ipc.conformance.tlc.result import Kind, Result, State
from omni_ipc.conformance.tlc.running import Reaches, run_labelled
from omni_ipc.conformance.tlc.toolchain import Toolchain
from omni_ipc.errors import Inconclusive, UsageError
from omni_ipc.records import TRACE_VERSION, Field, Origin, Step, Trace, write_atomically

_ACTION = re.compile(r"([A-Z][a-z0-9]*)([A-Z]\w*?)(?:_Bug)?\Z")


def find_counterexample(
    model: Model,
    manifest: Manifest,
    *,
    toolchain: Toolchain,
    children: Children,
    reaches: Reaches | None = None,
    otherwise: Result | None = None,
) -> Result:
    """Let TLC find a counterexample, with the parameters of each step.

    Args:
        otherwise: given where there is none by the actions of the manifest, because the module's Next has others: what
            TLC found by these, without parameters.

    Raises:
        Inconclusive: TLC did not come to its end.
        UsageError: the model holds, or is broken.
    """
    result = run_labelled(model, manifest, toolchain=toolchain, children=children, reaches=reaches)
    if result.kind in (Kind.TRUNCATED, Kind.EVALUATION):
        raise Inconclusive(f"{model.name}: {result.message}")
    if not result.trace and otherwise is not None:
        return otherwise
    if not result.trace:
        raise UsageError(f"{model.name} has no counterexample: {result.summary}. Choose a model that must fail.")
    return result


def to_trace(
    result: Result,
    *,
    model: Model,
    scenario: str,
    tasks: Mapping[str, str],
    agents: Mapping[str, str] = {},
    rounds: int = 1,
) -> Trace:
    """Turn a counterexample into the steps of a scenario's tasks.

    The step that closes a lasso comes last in each round, and leads to the state that the loop began with.

    Args:
        result: of a labelled run.
        tasks: actor -> the name of the task that plays it, with parameters in braces:
            ``{"Pump": "pump", "Consumer": "consumer {output}"}``. A region as key goes before its actor.
        agents: action that is a fault, or the passing of time -> the name of its agent, with parameters in braces.
        rounds: how often a lasso is walked.

    Raises:
        UsageError: an action has no actor in ``tasks``, or a parameter that no field of a region can hold.
    """
    if not result.trace:
        raise UsageError(f"{model.name}: {result.summary}. There is no counterexample to make a trace of.")
    initial, *states = result.trace
    if result.closing is not None and result.loop is not None:
        states += [result.closing, *[*states[result.loop :], result.closing] * (rounds - 1)]
    return Trace(
        version=TRACE_VERSION,
        scenario=scenario,
        origin=Origin.MODEL,
        defect=model.defect,
        model=model.name,
        claim=result.name,
        initial=state_to_itf(initial.variables),
        steps=tuple(_step(state, tasks, agents) for state in states),
    )


def region(action: str) -> str:
    """The region that implements an action: "Pump.TakeSplit" for PumpTakeSplit, and for its twin PumpTakeSplit_Bug.

    Raises:
        UsageError: the action's name is not an actor and a verb.
    """
    found = _ACTION.match(action)
    if found is None:
        raise UsageError(f"The action '{action}' is not named after actor and verb. Call it like PumpDeliver.")
    return f"{found[1]}.{found[2]}"


def player(region: str, tasks: Mapping[str, str]) -> str | None:
    """The task that plays a region, with parameters in braces: that of the region itself, else that of its actor."""
    return tasks.get(region, tasks.get(region.partition(".")[0]))


def save_itf(result: Result, path: Path, *, model: Model) -> Path:
    """Write a counterexample as ITF JSON, wholly or not at all.

    Raises:
        UsageError: it cannot be written.
    """
    document: dict[str, Any] = counterexample_to_itf(result, source=f"{model.module}.tla")
    return write_atomically(path, msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n")


def _step(state: State, tasks: Mapping[str, str], agents: Mapping[str, str]) -> Step:
    name = region(state.action or "")
    fields = {parameter: _field(state, value) for parameter, value in state.params.items()}
    pattern = agents.get(state.action or "", player(name, tasks))
    if pattern is None:
        actor = name.partition(".")[0]
        raise UsageError(f"No task plays the actor '{actor}' of {state}. Add it to the scenario's tasks.")
    try:
        task = pattern.format_map(fields)
    except KeyError as error:
        raise UsageError(f"The task '{pattern}' wants {error}, which {state} does not have.") from None
    return Step(task=task, action=name, fields=fields, state=state_to_itf(state.variables))


def _field(state: State, value: object) -> Field:
    if isinstance(value, str | int | bool):
        return value
    raise UsageError(f"{state}: the parameter {value!r} is no string, integer or boolean. Give the action a plain id.")
