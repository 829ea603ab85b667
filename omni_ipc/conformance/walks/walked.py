"""Divergences as traces: saved, read by people, and walked again."""

from __future__ import annotations

from omni_ipc.conformance.counterexamples.counterexample import region
from omni_ipc.conformance.counterexamples.itf import state_to_itf
from omni_ipc.conformance.graphs.graph import Edge
from omni_ipc.conformance.walks.divergence import Divergence
from omni_ipc.conformance.walks.reference import Reference
from omni_ipc.errors import UsageError
from omni_ipc.records import TRACE_VERSION, Failure, FailureKind, Origin, Step, Trace
from omni_ipc.values import from_itf


def failure_of(found: Divergence, reference: Reference) -> Failure:
    """Give a divergence as the failure of a run."""
    task = reference.moves.of[found.label].task if found.label else None
    step = f"{found.kind} {found.label}" if found.label else str(found.kind)
    return Failure(
        FailureKind.DIVERGENCE,
        f"{step}: {found.why}",
        task=task,
        where=found.where,
        details=tuple(map(str, found.differences)),
    )


def to_trace(found: Divergence, reference: Reference, *, model: str, scenario: str, defect: str | None) -> Trace:
    """Give the steps of the model that lead to a divergence, with the model's states after each."""
    start = found.path[0].source if found.path else reference.graph.initial[0]
    return Trace(
        version=TRACE_VERSION,
        scenario=scenario,
        origin=Origin.MODEL,
        defect=defect,
        model=model,
        claim=str(found.kind),
        initial=state_to_itf(reference.graph.state(start)),
        steps=tuple(_step(edge, reference) for edge in found.path),
        failure=failure_of(found, reference),
    )


def to_path(trace: Trace, reference: Reference) -> tuple[int, list[int]]:
    """Find the steps of a trace in the graph again: the initial state, and places in its edges.

    Raises:
        UsageError: the model no longer takes them.
    """
    graph = reference.graph
    states = {number: state_to_itf(graph.state(number)) for number in graph.initial}
    start = next((number for number, state in states.items() if _same(state, trace.initial)), None)
    if start is None:
        raise UsageError(f"The model {trace.model} no longer begins as in the trace. Make it anew: omni-ipc conform.")
    path: list[int] = []
    state = start
    for number, step in enumerate(trace.steps, start=1):
        place = next((place for place in reference.steps[state] if _is(step, graph.edges[place], reference)), None)
        if place is None:
            raise UsageError(
                f"The model {trace.model} no longer takes step {number} of the trace, {step}. "
                "Make it anew: omni-ipc conform."
            )
        path.append(place)
        state = graph.edges[place].target
    return start, path


def _step(edge: Edge, reference: Reference) -> Step:
    state = state_to_itf(reference.graph.state(edge.target))
    task = reference.moves.of[edge.label].task
    return Step(task=task, action=region(edge.label.action), fields=dict(edge.label.params), state=state)


def _is(step: Step, edge: Edge, reference: Reference) -> bool:
    same = region(edge.label.action) == step.action and dict(edge.label.params) == step.fields
    return same and _same(state_to_itf(reference.graph.state(edge.target)), step.state)


def _same(state: dict[str, object], told: dict[str, object] | None) -> bool:
    return told is not None and from_itf(state) == from_itf(told)
