"""What is generated from the specs, made anew, and compared with what lies there: nothing is renewed in silence."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from omni_ipc.conformance.claims import vacuity
from omni_ipc.conformance.claims.check import CheckResult, check
from omni_ipc.conformance.graphs.dump import dump_graph
from omni_ipc.conformance.graphs.graph import Graph, graph_file
from omni_ipc.conformance.models import listing, numbers
from omni_ipc.conformance.models import manifest as manifests
from omni_ipc.conformance.models.manifest import Manifest, Model, Outcome, Role
from omni_ipc.conformance.models.numbers import Numbers
from omni_ipc.conformance.processes.children import Children
from omni_ipc.conformance.tlc.result import Kind
from omni_ipc.conformance.tlc.toolchain import Toolchain
from omni_ipc.errors import UsageError
from omni_ipc.records import Verdict, write_atomically

_FAILS_AS = {Outcome.SAFETY: (Kind.INVARIANT, Kind.ACTION_PROPERTY), Outcome.DEADLOCK: (Kind.DEADLOCK,)}


class Synced(msgspec.Struct, frozen=True):
    """What was compared, and what differed."""

    compared: int
    changes: tuple[str, ...]  # a sentence each
    written: bool

    @property
    def verdict(self) -> Verdict:
        return Verdict.VIOLATED if self.changes and not self.written else Verdict.HOLDS


Progress = Callable[[str, int, int], object]
"""Called with what was done last, how much is done, and how much there is."""


def sync(
    names: Sequence[str] = (),
    *,
    write: bool = True,
    count: bool = False,
    jobs: int = 2,
    progress: Progress = lambda *_: None,
) -> Synced:
    """Renew graphs, the numbers in the manifest, and the table in the README.

    Args:
        names: of models, or front parts; without any, all.
        write: else only tell what would change.
        count: let TLC count the states of all models again, and not only of those with a graph; takes minutes.
        jobs: runs of TLC at a time.

    Raises:
        UnknownName: a name selects no model.
        UsageError: ``jobs`` is not positive.
        EnvironmentMissing: there is no TLC.
    """
    if jobs < 1:
        raise UsageError(f"jobs must be positive, and is {jobs}. Leave it out for two runs of TLC at a time.")
    manifest = manifests.load()
    chosen = manifest.select(names) if names else tuple(model for model in manifest.models if not model.nightly)
    toolchain = Toolchain.find()
    graphs = [model for model in chosen if model.role is Role.GRAPH]
    others = [model for model in chosen if model.role is not Role.GRAPH] if count else []
    total = len(graphs) + len(others)
    changes: list[str] = []
    counts: dict[str, Numbers] = {}
    for done, (model, graph) in enumerate(_graphs(graphs, manifest, toolchain, jobs), start=1):
        changes += _graph_changes(model, graph, manifest)
        counts[model.name] = Numbers(len(graph.states), None)
        changes += _number_changes(model, counts[model.name])
        if write:
            _keep(graph, graph_file(manifest.folder, model.spec))
        progress(model.name, done, total)
    for result in _checked(others, manifest, toolchain, jobs, len(graphs), progress):
        counts[result.model.name] = _numbers(result)
        changes += _number_changes(result.model, counts[result.model.name])
    changes += _orphans(manifest)
    if write:
        _write_numbers(path_of(manifest), counts)
        manifest = manifests.load()
    changes += _listed(manifest, write=write)
    return Synced(total + 1, tuple(changes), write)


def path_of(manifest: Manifest) -> Path:
    """The manifest's file."""
    return manifest.folder / "manifest.json"


def _graphs(
    models: Sequence[Model], manifest: Manifest, toolchain: Toolchain, jobs: int
) -> Iterator[tuple[Model, Graph]]:
    with ThreadPoolExecutor(max_workers=jobs, thread_name_prefix="tlc") as pool, Children() as children:
        runs = [pool.submit(dump_graph, model, manifest, toolchain=toolchain, children=children) for model in models]
        for model, run in zip(models, runs, strict=True):
            yield model, run.result()


def _graph_changes(model: Model, graph: Graph, manifest: Manifest) -> Iterator[str]:
    path = graph_file(manifest.folder, model.spec)
    size = f"{len(graph.states):,} states, {len(graph.edges):,} steps"
    if not path.is_file():
        yield f"{path.name}: new, {size}"
        return
    try:
        old = Graph.load(path)
    except UsageError:
        yield f"{path.name}: damaged before; now {size}"
        return
    if old.digest != graph.digest:
        yield f"{path.name}: {len(old.states):,} states, {len(old.edges):,} steps before; now {size}"
        gone, come = (
            {str(edge.label) for edge in one.edges} - {str(edge.label) for edge in other.edges}
            for one, other in ((old, graph), (graph, old))
        )
        yield from (f"{path.name}: no step {label} any more" for label in sorted(gone))
        yield from (f"{path.name}: the step {label} is new" for label in sorted(come))
    elif old.origin and graph.origin and old.origin.inputs != graph.origin.inputs:
        yield f"{path.name}: the modules have changed, and the graph is the same"


def _keep(graph: Graph, path: Path) -> None:
    """Write a graph, unless it lies there, of the same modules: whichever TLC found it first."""
    with contextlib.suppress(UsageError):  # there is none, or it is damaged
        old = Graph.load(path)
        if old.digest == graph.digest and old.origin and graph.origin and old.origin.inputs == graph.origin.inputs:
            return
    graph.save(path)


def _checked(
    models: Sequence[Model], manifest: Manifest, toolchain: Toolchain, jobs: int, before: int, progress: Progress
) -> list[CheckResult]:
    if not models:
        return []

    def tell(done: int, total: int, latest: CheckResult) -> None:
        progress(latest.model.name, before + done, before + total)

    return check(models, manifest, toolchain=toolchain, jobs=jobs, progress=tell)


def _numbers(result: CheckResult) -> Numbers:
    """What the manifest is to say of a model; nothing of one that ends otherwise than it must."""
    model, found = result.model, result.result
    if model.result is Outcome.SUCCESS and found.kind is Kind.SUCCESS:
        return Numbers(found.distinct, found.depth)
    if found.kind in _FAILS_AS.get(model.result, ()):
        return Numbers(None, found.depth)
    return Numbers(None, None)


def _number_changes(model: Model, counted: Numbers) -> Iterator[str]:
    if counted.distinct_states not in (None, model.distinct_states):
        before = "no distinct states" if model.distinct_states is None else f"{model.distinct_states:,} distinct states"
        yield f"{model.name}: {before} before; now {counted.distinct_states:,}"
    if model.expect.depth is not None and counted.depth not in (None, model.expect.depth):
        yield f"{model.name}: depth {model.expect.depth} before; now {counted.depth}"


def _write_numbers(path: Path, counts: Mapping[str, Numbers]) -> None:
    """Put numbers into the manifest as it is now: while TLC ran, somebody may have written in it."""
    old = new = path.read_text()
    for model, counted in counts.items():
        new = numbers.renewed(new, model, counted)
    if new != old:
        write_atomically(path, new.encode())


def _orphans(manifest: Manifest) -> Iterator[str]:
    """Graphs of no model; they are for people to remove."""
    specs = {model.spec for model in manifest.models if model.role is Role.GRAPH}
    known = {graph_file(manifest.folder, spec) for spec in specs}
    yield from (
        f"{path.name}: no model of the manifest has this graph; remove it"
        for path in sorted((manifest.folder / "graph").glob("*.gz"))
        if path not in known
    )


def _listed(manifest: Manifest, *, write: bool) -> Iterator[str]:
    path = manifest.folder / "README.md"
    if not path.is_file():
        return
    readme = path.read_text()
    if listing.with_table(readme, manifest) != readme:
        if write:
            listing.update_readme(manifest.folder)
        yield "README.md: the table of models is not that of the manifest"
    page = manifest.folder / vacuity.PAGE
    if page.is_file() and page.read_text() != vacuity.claims_page(manifest):
        if write:
            vacuity.update_claims_page(manifest)
        yield f"{vacuity.PAGE}: the claims are not those of the manifest"
