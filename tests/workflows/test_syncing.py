"""What is generated from the specs is renewed, told change by change, and found stale where it is."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from omni_ipc.conformance.claims.vacuity import update_claims_page
from omni_ipc.conformance.graphs.graph import Graph, graph_file
from omni_ipc.conformance.models import listing
from omni_ipc.conformance.models import manifest as manifests
from omni_ipc.conformance.models.manifest import Manifest
from omni_ipc.errors import EnvironmentMissing, UnknownName, UsageError
from omni_ipc.records import Verdict
from omni_ipc.workflows.syncing import sync

SPEC = "FutureOrphan"


def test_what_is_committed_is_up_to_date() -> None:
    """Every graph is TLC's of the modules as they are now, and so is the table: else run `omni-ipc spec sync`."""
    assert sync(write=False).changes == ()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The specs with one of them in the manifest, all of it up to date."""
    folder = Path(shutil.copytree(manifests.load().folder, tmp_path / "spec"))
    manifest = json.loads((folder / "manifest.json").read_text())
    kept = [model for model in manifest["models"] if model["spec"] == SPEC]
    text = json.dumps({"specs": {SPEC: manifest["specs"][SPEC]}, "models": kept}, indent=1)
    (folder / "manifest.json").write_text(text)
    for path in (folder / "graph").glob("*.gz"):
        if path != graph_file(folder, SPEC):
            path.unlink()
    monkeypatch.setenv("OMNI_IPC_SPEC", str(folder))
    listing.update_readme(folder)
    update_claims_page(manifests.load(folder))
    return folder


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_what_is_up_to_date_stays_as_it_is(folder: Path) -> None:
    """Byte by byte, and nothing is told."""
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    synced = sync()
    assert (synced.changes, synced.verdict, synced.compared) == ((), Verdict.HOLDS, 2)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_a_model_that_has_changed_is_stale_until_it_is_renewed(folder: Path) -> None:
    """Graph, number of states, table: each change is told; a check alone writes nothing."""
    change(folder / "mc" / f"MC{SPEC}_Graph.cfg", '{"1"}', '{"1", "2"}')
    before = graph_file(folder, SPEC).read_bytes()
    stale = sync(write=False)
    assert stale.verdict is Verdict.VIOLATED
    assert graph_file(folder, SPEC).read_bytes() == before
    renewed = sync()
    assert renewed.verdict is Verdict.HOLDS
    told = "\n".join(renewed.changes)
    assert "FutureOrphan.graph.jsonl.gz: 8 states, 11 steps before; now" in told
    assert 'the step ConsumerWait(output="2") is new' in told
    assert "FutureOrphan/graph: 8 distinct states before; now" in told
    assert "README.md: the table of models is not that of the manifest" in told
    assert sync(write=False).changes == ()
    count = len(Graph.load(graph_file(folder, SPEC)).states)
    assert manifests.load().graph_model(SPEC).distinct_states == count


@pytest.mark.parametrize("keep", [slice(0), slice(300), slice(-1)])
def test_a_damaged_graph_is_made_anew(folder: Path, keep: slice) -> None:
    """As the error of whoever reads it says; a check alone leaves it as it is."""
    path = graph_file(folder, SPEC)
    whole = Graph.load(path)
    path.write_bytes(path.read_bytes()[keep])
    with pytest.raises(UsageError, match=r"Make it anew: omni-ipc spec sync\."):
        Graph.load(path)
    stale = sync(write=False)
    assert stale.changes == ("FutureOrphan.graph.jsonl.gz: damaged before; now 8 states, 11 steps",)
    assert sync().written
    assert Graph.load(path).digest == whole.digest


def test_modules_that_change_without_changing_the_graph_are_told_too(folder: Path) -> None:
    """Without it the committed graph could not be used any more."""
    change(folder / f"{SPEC}.tla", 'waiter[output] = "absent"', 'waiter[output] \\in {"absent"}')
    assert sync().changes == ("FutureOrphan.graph.jsonl.gz: the modules have changed, and the graph is the same",)
    assert sync().changes == ()


def test_all_numbers_are_counted_again_on_request(folder: Path) -> None:
    """Depths and states of models that must hold, and depths of those that must fail."""
    text = (folder / "manifest.json").read_text()
    (folder / "manifest.json").write_text(re.sub(r'"(depth|distinctStates)": \d+', r'"\1": 1', text))
    chosen = ("FutureOrphan/design", "FutureOrphan/reach/cached")
    told = sync(chosen, count=True).changes
    assert any(re.match(r"FutureOrphan/design: 1 distinct states before; now \d+", change) for change in told)
    assert any(re.match(r"FutureOrphan/reach/cached: depth 1 before; now 4", change) for change in told)
    own, origin = numbers(manifests.load()), numbers(original())
    assert {name for name in own if own[name] == origin[name] != (None, None)} >= set(chosen)


def test_the_page_of_claims_is_renewed(folder: Path) -> None:
    """When a sentence above a claim has changed: it is a comment, but the page quotes it."""
    change(folder / f"{SPEC}.tla", "Whoever waits is served in the end.", "Nobody waits in vain.")
    assert "CLAIMS.md: the claims are not those of the manifest" in sync().changes
    assert "| `EveryWaitServedProp` | Nobody waits in vain. |" in (folder / "CLAIMS.md").read_text()
    assert not sync().changes


def test_a_graph_of_no_model_is_told_and_left_to_people(folder: Path) -> None:
    """It may be somebody's work."""
    orphan = shutil.copy(graph_file(folder, SPEC), graph_file(folder, "Gone"))
    assert sync().changes == ("Gone.graph.jsonl.gz: no model of the manifest has this graph; remove it",)
    assert Path(orphan).is_file()


def test_without_tlc_nothing_is_compared(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That is told, with the command that brings it; so is a name that selects nothing."""
    with pytest.raises(UnknownName, match="no model 'Future'"):
        sync(["Future"])
    monkeypatch.setattr("omni_ipc.conformance.tlc.toolchain._packaged", lambda *_: None)
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.delenv("OMNI_IPC_TLA2TOOLS", raising=False)
    with pytest.raises(EnvironmentMissing, match="pip install"):
        sync()


def numbers(manifest: Manifest) -> dict[str, tuple[int | None, int | None]]:
    return {model.name: (model.distinct_states, model.expect.depth) for model in manifest.models if model.spec == SPEC}


def original() -> Manifest:
    return manifests.load(Path(__file__).parents[2] / "spec")
