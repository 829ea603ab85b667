"""State graphs of models: out of TLC, or as they were committed, if they are still those of the modules."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator

from omni_ipc.conformance.graphs.dot import parse_dot
from omni_ipc.conformance.graphs.graph import Graph, Label, Origin, graph_file
from omni_ipc.conformance.models.configuration import Configuration
from omni_ipc.conformance.models.manifest import Manifest, Model
from omni_ipc.conformance.processes.children import Children
from omni_ipc.conformance.tlc import labels
from omni_ipc.conformance.tlc.result import Kind
from omni_ipc.conformance.tlc.running import run_dump
from omni_ipc.conformance.tlc.toolchain import Toolchain
from omni_ipc.errors import EnvironmentMissing, Inconclusive, InternalError, UsageError
from omni_ipc.records import Field
from omni_ipc.values import Value

_EXTENDS = re.compile(r"^\s*EXTENDS\s+((?:\w+\s*,\s*)*\w+)", re.MULTILINE)
_INSTANCE = re.compile(r"\bINSTANCE\s+(\w+)")
_GHOST = re.compile(r"^\s*(\w+),?\s*\(\* ghost \*\)", re.MULTILINE)


def dump_graph(
    model: Model, manifest: Manifest, *, toolchain: Toolchain, children: Children, flags: tuple[str, ...] = ()
) -> Graph:
    """Let TLC explore a model, and give its state graph.

    Args:
        flags: further ones for TLC: another fingerprint, more workers.

    Raises:
        UsageError: the model does not hold, or is broken.
        Inconclusive: TLC did not come to its end.
    """
    if reductions := Configuration.load(manifest.folder / model.cfg).reductions:
        raise UsageError(
            f"'{model.cfg}' has a {reductions[0]}, with which a state graph is not whole. Put what bounds the model "
            "into the guards of its actions, or give the graph a cfg of its own."
        )
    result, dot = run_dump(model, manifest, toolchain=toolchain, children=children, flags=flags)
    if result.kind in (Kind.TRUNCATED, Kind.EVALUATION):
        raise Inconclusive(f"{model.name}: {result.message}")
    if result.kind is not Kind.SUCCESS:
        raise UsageError(f"{model.name} must hold to have a state graph: {result.summary}. Run: omni-ipc check.")
    graph = parse_dot(
        dot, labels_of(model, manifest), Origin(model.name, inputs(model, manifest), toolchain.identity())
    )
    if len(graph.states) != result.distinct:
        raise InternalError(f"{model.name}: TLC found {result.distinct} states, and dumped {len(graph.states)}.")
    return graph


def committed_graph(model: Model, manifest: Manifest) -> Graph | None:
    """Read the graph that lies beside the specs; None if there is none, or if it is of other modules."""
    path = graph_file(manifest.folder, model.spec)
    if not path.is_file():
        return None
    graph = Graph.load(path)
    return graph if graph.origin and graph.origin.inputs == inputs(model, manifest) else None


def find_graph(model: Model, manifest: Manifest, children: Children) -> tuple[Graph, str]:
    """Give a model's graph and say where it is from: committed if it is up to date, else out of TLC.

    Raises:
        EnvironmentMissing: it is not up to date, and there is no TLC.
    """
    if (graph := committed_graph(model, manifest)) is not None:
        return graph, "committed, of these very modules: TLC did not run"
    try:
        toolchain = Toolchain.find()
    except EnvironmentMissing as missing:
        raise EnvironmentMissing(
            f"The committed graph of {model.name} is not of its modules as they are now, and there is no TLC to make "
            f"it anew. {missing.what}",
            missing.remedy,
        ) from None
    return dump_graph(
        model, manifest, toolchain=toolchain, children=children
    ), "out of TLC: omni-ipc spec sync keeps it"


def inputs(model: Model, manifest: Manifest) -> str:
    """The digest of all that a model's graph depends on: its modules, its cfg, its actions."""
    spec = manifest.specs[model.spec]
    told = json.dumps([spec.actions, spec.termination, model.flags, (manifest.folder / model.cfg).read_text()])
    return hashlib.sha256("".join([told, *sources(model.module, manifest)]).encode()).hexdigest()


def sources(module: str, manifest: Manifest) -> Iterator[str]:
    """The texts of a module and of all that it extends or has an instance of, those of TLA+ itself left out."""
    left, seen = [module], {module}
    while left:
        name = left.pop()
        file = next((path for folder in manifest.library() if (path := folder / f"{name}.tla").is_file()), None)
        if file is None:
            continue
        text = file.read_text()
        yield text
        named = {name for extended in _EXTENDS.findall(text) for name in re.findall(r"\w+", extended)}
        left += sorted({*named, *_INSTANCE.findall(text)} - seen)
        seen |= set(left)


def ghosts(spec: str, manifest: Manifest) -> frozenset[str]:
    """The variables of a spec that are marked as its own, without anything in the code behind them."""
    return frozenset(name for text in sources(spec, manifest) for name in _GHOST.findall(text))


def labels_of(model: Model, manifest: Manifest) -> dict[str, Label]:
    """Every instance of every action, by the name of its operator in a dump: also those that are never taken."""
    known = labels.instances(model, manifest.specs[model.spec], Configuration.load(manifest.folder / model.cfg))
    return {one.label: Label(one.action, tuple(map(_param, one.params.items()))) for one in known}


def _param(item: tuple[str, Value]) -> tuple[str, Field]:
    name, value = item
    if not isinstance(value, str | int | bool):
        raise UsageError(f"The parameter '{name}' is {value!r}, no string, integer or boolean. Give it a plain id.")
    return name, value
