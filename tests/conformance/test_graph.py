"""State graphs: canonical, and read from TLC's dump and from files, or refused with a reason."""

from __future__ import annotations

import gzip
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from omni_ipc.conformance.graphs.dot import parse_dot
from omni_ipc.conformance.graphs.dump import committed_graph, dump_graph, find_graph, ghosts, sources
from omni_ipc.conformance.graphs.graph import Graph, Label, Origin, graph_file
from omni_ipc.conformance.models.manifest import Manifest
from omni_ipc.conformance.processes.children import Children
from omni_ipc.conformance.tlc.toolchain import Toolchain
from omni_ipc.errors import EnvironmentMissing, FormatError, UsageError
from omni_ipc.values import normal

A, B, C = (False, normal({"x"})), (True, normal(set())), (True, normal({1: "a", 2: "b"}))
GO, BACK = Label("PumpGo", (("to", "x"),)), Label("PumpBack")
STEPS = [(A, GO, B), (B, BACK, A), (B, GO, C), (C, Label("Terminating"), C)]


def small() -> Graph:
    return Graph(["up", "cached"], [A, B, C], [A], STEPS, Origin("X/graph", "modules", "jar"))


def test_the_order_of_everything_is_canonical() -> None:
    """Variables, states and steps may come in any order, and several times; the graph is the same."""
    lot = random.Random(1)
    for _ in range(20):
        steps = [(state[::-1], label, after[::-1]) for state, label, after in lot.sample(STEPS * 2, 8)]
        if len(set(steps)) < len(STEPS):
            continue
        graph = Graph(["cached", "up"], [state[::-1] for state in lot.sample([A, B, C], 3)], [A[::-1]], steps)
        assert graph.digest == small().digest
        assert graph.edges == small().edges
    assert small().variables == ("cached", "up")
    assert small().state(small().initial[0]) == {"up": False, "cached": frozenset("x")}


def test_true_and_one_are_two_values() -> None:
    """In Python they are equal; a graph in which one stands for the other is another graph."""
    numbers = [((1,), GO, (0,))]
    truths = [((True,), GO, (False,))]
    one = Graph(["up"], [(1,), (0,)], [(1,)], numbers)
    other = Graph(["up"], [(True,), (False,)], [(True,)], truths)
    assert one.digest != other.digest


def test_depths_and_shortest_ways() -> None:
    """A state is reached in as few steps as can be."""
    graph = small()
    numbers = {graph.states[number]: number for number in range(3)}
    a, b, c = (numbers[state[::-1]] for state in (A, B, C))
    assert [graph.depths[state] for state in (a, b, c)] == [0, 1, 2]
    assert [graph.edges[place].label for place in graph.path(c)] == [GO, GO]
    assert graph.path(a) == []


def test_a_saved_graph_is_read_again(tmp_path: Path) -> None:
    """With its origin; and equal graphs are equal files."""
    one, other = small().save(tmp_path / "one.gz"), small().save(tmp_path / "other.gz")
    assert one.read_bytes() == other.read_bytes()
    read = Graph.load(one)
    assert (read.digest, read.edges, read.origin) == (small().digest, small().edges, small().origin)
    assert read.states == small().states


def _truncated(data: bytes) -> bytes:
    return data[:-20]


def _changed(data: bytes) -> bytes:
    return gzip.compress(gzip.decompress(data).replace(b"PumpBack", b"PumpHack"))


def _headless(data: bytes) -> bytes:
    return gzip.compress(b"\n".join(gzip.decompress(data).split(b"\n")[1:]))


def _newer(data: bytes) -> bytes:
    return gzip.compress(
        gzip.decompress(data).replace(b'"version": 1', b'"version": 9').replace(b'"version":1', b'"version":9')
    )


def _rotten(data: bytes) -> bytes:
    return data[:10] + bytes([data[10] | 6]) + data[11:]  # a kind of block that deflate does not know


@pytest.mark.parametrize(
    "damage", [_truncated, _changed, _headless, _newer, _rotten, lambda data: b"", lambda data: b"text"]
)
def test_a_damaged_file_is_refused(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    """Cut off, edited, without its header, of another version, bad inside, empty, no gzip: told, with the remedy."""
    path = small().save(tmp_path / "X.graph.jsonl.gz")
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(UsageError, match=r"X\.graph\.jsonl\.gz.*Make it anew: omni-ipc spec sync"):
        Graph.load(path)
    with pytest.raises(UsageError, match="Cannot read"):
        Graph.load(tmp_path / "none.gz")


DUMP = r"""strict digraph DiskGraph {
nodesep=0.35;
subgraph cluster_graph {
color="white";
-87 [label="/\\ up = FALSE\n/\\ name = \"a \\\"b\\\"\"",style = filled]
-87 -> 63 [label="Go__1",color="black",fontcolor="black"];
63 [label="/\\ up = TRUE\n/\\ name = <<1,\n 2>>"];
63 -> 63 [label="Terminating",color="black",fontcolor="black"];
{rank = same; 63;}
}
}"""


def test_a_dump_of_tlc_is_read() -> None:
    """Escaped strings, wrapped values, labels turned back into actions with parameters, steps to the same state."""
    graph = parse_dot(DUMP, {"Go__1": GO})
    assert graph.variables == ("name", "up")
    assert set(graph.states) == {('a "b"', False), ((1, 2), True)}
    assert [edge.label for edge in graph.edges] == [GO, Label("Terminating")]
    assert graph.state(graph.initial[0])["up"] is False


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (DUMP.replace(",style = filled", ""), "has 0 initial ones"),
        (DUMP.replace('-> 63 [label="Go', '-> 64 [label="Go'), "lacks 1 states"),
        (DUMP + "\n-5 [lab", "Neither a state nor a step"),
        ("", "has 0 initial ones"),
    ],
)
def test_a_dump_that_is_not_whole_is_refused(text: str, complaint: str) -> None:
    """It says what is missing."""
    with pytest.raises(FormatError, match=complaint):
        parse_dot(text, {})


def test_a_committed_graph_serves_until_its_modules_change(
    manifest: Manifest, tmp_path: Path, children: Children, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then it is made anew; without TLC that is refused, with the command that brings it."""
    model = manifest.graph_model("FutureOrphan")
    graph, origin = find_graph(model, manifest, children)
    assert "TLC did not run" in origin
    assert graph.digest == Graph.load(graph_file(manifest.folder, "FutureOrphan")).digest
    own = _copy(manifest, tmp_path)
    assert committed_graph(model, own) is not None
    module = own.folder / "FutureOrphan.tla"
    module.write_text(module.read_text().replace('waiter[output] = "absent"', 'waiter[output] \\in {"absent"}'))
    assert committed_graph(model, own) is None
    again, origin = find_graph(model, own, children)
    assert (again.digest, "out of TLC" in origin) == (graph.digest, True)

    def missing() -> Toolchain:
        raise EnvironmentMissing("No Java here.", "Run: pip install it")

    monkeypatch.setattr(Toolchain, "find", missing)
    with pytest.raises(EnvironmentMissing, match=r"not of its modules as they are now.*No Java here\. Run: pip"):
        find_graph(model, own, children)


def test_a_model_that_fails_has_no_graph(manifest: Manifest, toolchain: Toolchain, children: Children) -> None:
    """The command that shows why is told."""
    [model] = manifest.select(["FutureOrphan/reach/cached"])
    with pytest.raises(UsageError, match=r"must hold to have a state graph.*omni-ipc check"):
        dump_graph(model, manifest, toolchain=toolchain, children=children)


def test_bounds_by_a_constraint_are_refused(
    manifest: Manifest, tmp_path: Path, toolchain: Toolchain, children: Children
) -> None:
    """TLC leaves out what lies beyond a constraint: the graph would not be whole."""
    own = _copy(manifest, tmp_path)
    cfg = own.folder / "mc" / "MCFutureOrphan_Graph.cfg"
    cfg.write_text(cfg.read_text() + "CONSTRAINT Few\n")
    with pytest.raises(UsageError, match="has a CONSTRAINT"):
        dump_graph(own.graph_model("FutureOrphan"), own, toolchain=toolchain, children=children)


def test_ghosts_are_marked_in_the_module(manifest: Manifest) -> None:
    """Behind the name of a variable; a word in a comment is none."""
    assert ghosts("SplitMap", manifest) == {"announced", "expected"}
    assert ghosts("FutureOrphan", manifest) == frozenset()


def _copy(manifest: Manifest, folder: Path) -> Manifest:
    return Manifest(Path(shutil.copytree(manifest.folder, folder / "spec")), manifest.specs, manifest.models)


def test_a_module_that_is_an_instance_is_one_of_a_graph_s_sources(tmp_path: Path) -> None:
    """An edit of it makes the graph stale, as one of what is extended."""
    for name, text in {"A": "EXTENDS B", "B": "C == INSTANCE C WITH x <- y", "C": "LOCAL INSTANCE Naturals"}.items():
        (tmp_path / f"{name}.tla").write_text(f"---- MODULE {name} ----\n{text}\n====\n")
    manifest: Any = SimpleNamespace(library=lambda: (tmp_path,))
    assert [text.split()[2] for text in sources("A", manifest)] == ["A", "B", "C"]
