"""A second opinion: three models written by hand in Python must have, state by state, the graphs that TLC found."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from omni_ipc.conformance.graphs.dump import dump_graph
from omni_ipc.conformance.graphs.graph import Graph, graph_file
from omni_ipc.conformance.models.manifest import Manifest
from omni_ipc.conformance.processes.children import Children
from omni_ipc.conformance.tlc.toolchain import Toolchain
from tests.conformance.twins import dual_writer_ring, future_orphan, split_map
from tests.conformance.twins.exploring import explore

WRITERS = ("worker.main", "worker.output")
ONE = {"1": ("1/1", "1/2")}
TWO = {**ONE, "2": ("2/1",)}

TWINS: dict[str, Callable[[], Graph]] = {
    "FutureOrphan": lambda: explore(future_orphan.initial(["1"]), future_orphan.steps),
    "SplitMap": lambda: explore(split_map.initial(ONE), split_map.steps_of(ONE)),
    "DualWriterRing": lambda: explore(dual_writer_ring.initial(WRITERS, 1), dual_writer_ring.steps_of(1)),
}
LARGER: dict[str, Callable[[], Graph]] = {
    "FutureOrphan": lambda: explore(future_orphan.initial(["1", "2"]), future_orphan.steps),
    "SplitMap": lambda: explore(split_map.initial(TWO), split_map.steps_of(TWO)),
    "DualWriterRing": lambda: explore(dual_writer_ring.initial(WRITERS, 2), dual_writer_ring.steps_of(2)),
}


@pytest.mark.parametrize("spec", TWINS)
def test_the_twin_has_the_committed_graph(spec: str, manifest: Manifest) -> None:
    """The same digest: the same states, the same steps with the same labels, the same beginning."""
    committed = Graph.load(graph_file(manifest.folder, spec))
    assert TWINS[spec]().digest == committed.digest


@pytest.mark.parametrize("spec", LARGER)
def test_the_twin_has_the_graph_of_the_design(
    spec: str, manifest: Manifest, toolchain: Toolchain, children: Children
) -> None:
    """In the larger bounds of the design, whatever the fingerprint and the number of workers."""
    [model] = manifest.select([f"{spec}/design"])
    flags = ("-fp", "11", "-workers", "2")
    graph = dump_graph(model, manifest, toolchain=toolchain, children=children, flags=flags)
    assert LARGER[spec]().digest == graph.digest


def test_a_twin_that_differs_has_another_digest() -> None:
    """One step more in one state, or one step that leads elsewhere, is seen."""
    whole = TWINS["FutureOrphan"]()
    values = whole.states
    steps = [(values[edge.source], edge.label, values[edge.target]) for edge in whole.edges]
    first = values[whole.initial[0]]
    assert Graph(whole.variables, values, [first], steps).digest == whole.digest
    assert Graph(whole.variables, values, [first], steps[1:]).digest != whole.digest
    moved = [(steps[0][0], steps[0][1], first), *steps[1:]]
    assert Graph(whole.variables, values, [first], moved).digest != whole.digest
