"""The manifest: valid, complete, and in agreement with the files beside it."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import msgspec
import pytest

from omni_ipc.conformance.counterexamples.counterexample import region
from omni_ipc.conformance.models import listing
from omni_ipc.conformance.models import manifest as manifests
from omni_ipc.conformance.models.configuration import Configuration
from omni_ipc.conformance.models.manifest import Manifest, Model, Outcome, Role
from omni_ipc.errors import UnknownName, UsageError

ROLES = {Role.LIVE: "_Live", Role.REFINE: "_Refines"}


def test_every_cfg_is_in_the_manifest_and_every_entry_has_its_cfg(manifest: Manifest) -> None:
    """Neither a model that nobody checks, nor an entry without a model."""
    files = {f"mc/{path.name}" for path in (manifest.folder / "mc").glob("*.cfg")}
    assert {model.cfg for model in manifest.models} == files


def test_names_follow_from_the_files(manifest: Manifest) -> None:
    """MCSplitMap_Bug_late_split_map_Live.cfg is SplitMap/bug/late_split_map/live, and likewise all."""

    def name_of(cfg: str) -> str:
        spec, rest = re.fullmatch(r"mc/MC([A-Za-z]+)(.*)\.cfg", cfg).groups()  # type: ignore[union-attr]
        parts = re.fullmatch(r"(?:_(Bug|Reach|Design)_(.+?))?(?:_([A-Z][a-z]+))?", rest)
        assert parts is not None
        role, what, aspect = parts.groups()
        return "/".join([spec, *([role.lower(), what] if role else []), *([aspect.lower()] if aspect else [])])

    for model in manifest.models:
        if model.role is Role.GRAPH:  # of the design's cfg, too, if its bounds are those of the code
            assert model.name == f"{model.spec}/graph"
            continue
        expected = name_of(model.cfg)
        assert model.name == (f"{expected}/design" if "/" not in expected else expected)


def test_each_spec_has_a_model_of_every_role(manifest: Manifest) -> None:
    """Design, liveness, refinement, a defect that fails in safety and in liveness, and probes against vacuity."""
    for spec in manifest.specs:
        models = [model for model in manifest.models if model.spec == spec]
        assert {model.role for model in models} | {Role.GRAPH} == set(Role)
        assert {Outcome.SAFETY, Outcome.LIVENESS} <= {model.result for model in models if model.role is Role.BUG}


def test_what_must_fail_is_what_the_cfg_claims(manifest: Manifest) -> None:
    """A must-fail model claims exactly the property that it must fail on; liveness stands alone, for TLC names none."""
    for model in manifest.models:
        configuration = Configuration.load(manifest.folder / model.cfg)
        if model.expect.name is not None:
            assert (*configuration.invariants, *configuration.properties) == (model.expect.name,)
        assert len(configuration.properties) <= 1


def test_invariants_of_the_spec_are_all_checked_by_its_design_model(manifest: Manifest) -> None:
    """An invariant that is defined, but checked by no cfg, is a claim without a proof; each has its sentence.

    Of those of a module that several specs extend, a spec checks what it will.
    """
    for spec in manifest.specs:
        text, *extended = texts_of(spec, manifest)
        defined, common = invariants_in(text), {name for each in extended for name in invariants_in(each)}
        designs = [model for model in manifest.models if model.spec == spec and model.role is Role.DESIGN]
        assert designs
        for design in designs:
            checked = set(Configuration.load(manifest.folder / design.cfg).invariants)
            assert defined <= checked <= defined | common
            assert "TypeOK" in checked
        for each in (text, *extended):
            for name in re.findall(r"^(\w+(?:Inv|Prop)) ==", each, re.MULTILINE):
                assert re.search(rf"^\(\* [A-Z].*\. \*\)\n{name} ==", each, re.MULTILINE), name


def test_invariants_of_a_common_module_are_each_checked_somewhere(manifest: Manifest) -> None:
    """Nothing is claimed there for nobody."""
    checked = {
        name
        for model in manifest.models
        if model.role is Role.DESIGN
        for name in Configuration.load(manifest.folder / model.cfg).invariants
    }
    for spec in manifest.specs:
        for each in texts_of(spec, manifest):
            assert invariants_in(each) <= checked


def texts_of(module: str, manifest: Manifest) -> list[str]:
    """The text of a module, and those of the modules beside it that it extends."""
    text = (manifest.folder / f"{module}.tla").read_text()
    extended = re.findall(r"\w+", " ".join(re.findall(r"^EXTENDS (.*)", text, re.MULTILINE)))
    beside = [name for name in extended if (manifest.folder / f"{name}.tla").is_file()]
    return [text, *(each for name in beside for each in texts_of(name, manifest))]


def invariants_in(text: str) -> set[str]:
    return set(re.findall(r"^(\w+Inv|TypeOK) ==", text, re.MULTILINE))


def test_actions_are_named_like_regions(manifest: Manifest) -> None:
    """PumpTakeSplit is Pump.TakeSplit in the code, and so is its historical twin."""
    assert region("PumpTakeSplit") == region("PumpTakeSplit_Bug") == "Pump.TakeSplit"
    for spec in manifest.specs.values():
        for action in spec.actions:
            assert region(action).replace(".", "") == action
    with pytest.raises(UsageError, match="not named after actor and verb"):
        region("next")


def test_the_readme_has_the_table_of_the_manifest(manifest: Manifest) -> None:
    """If this fails: omni-ipc spec sync."""
    readme = (manifest.folder / "README.md").read_text()
    assert readme == listing.with_table(readme, manifest)


def test_the_readme_is_renewed(manifest: Manifest, tmp_path: Path) -> None:
    """A table that lags behind is replaced, the rest kept; a README without a place for it is an error."""
    folder = Path(shutil.copytree(manifest.folder, tmp_path / "spec"))
    whole = (folder / "README.md").read_text()
    (folder / "README.md").write_text(whole.replace("| [`SplitMap/design`]", "| [`Old/design`]"))
    assert listing.update_readme(folder).read_text() == whole
    (folder / "README.md").write_text("no table")
    with pytest.raises(UsageError, match="has lost its table"):
        listing.update_readme(folder)


@pytest.mark.parametrize(
    ("names", "selected"),
    [
        (["FutureOrphan/design"], ["FutureOrphan/design"]),
        (
            ["DualWriterRing/bug/dual_writers"],
            ["DualWriterRing/bug/dual_writers", "DualWriterRing/bug/dual_writers/live"],
        ),
        (
            ["FutureOrphan/reach", "SplitMap/live"],
            ["SplitMap/live", "FutureOrphan/reach/cached", "FutureOrphan/reach/awaited"],
        ),
    ],
)
def test_a_front_part_of_the_name_selects(manifest: Manifest, names: list[str], selected: list[str]) -> None:
    """In the order of the manifest, whatever the order asked for."""
    assert [model.name for model in manifest.select(names)] == selected


def test_without_names_all_are_selected(manifest: Manifest) -> None:
    """But for what is there for its state graph, or for the night; and a whole spec by its name."""
    left_out = set(manifest.models) - set(manifest.select())
    assert left_out == {model for model in manifest.models if model.role is Role.GRAPH or model.nightly}
    assert {model.spec for model in manifest.select(["SplitMap"])} == {"SplitMap"}


def test_a_model_for_the_night_is_selected_by_its_whole_name_alone(manifest: Manifest) -> None:
    """It would make a front part take too long."""
    nightly = [model for model in manifest.models if model.nightly]
    assert nightly
    for model in nightly:
        assert manifest.select([model.name]) == (model,)
        assert model not in manifest.select([model.spec])


def test_what_one_design_leaves_out_another_takes(manifest: Manifest) -> None:
    """Several designs of a spec share its actions out; one that all leave out is a contradiction."""
    dead = {action for model in manifest.models for action in model.leaves_out}
    assert dead
    assert all(model.role is Role.DESIGN for model in manifest.models if model.leaves_out)


def test_an_unknown_model_is_told_with_the_nearest_name(manifest: Manifest) -> None:
    """A front part must end at a slash: Split is no model."""
    with pytest.raises(UnknownName, match=r"no model 'SplitMaps'\. Did you mean 'SplitMap'\?"):
        manifest.select(["SplitMaps"])
    with pytest.raises(UnknownName, match="no model 'Split'"):
        manifest.select(["Split"])


def test_a_name_like_no_other_is_answered_by_the_specs_and_not_by_a_page_of_models(manifest: Manifest) -> None:
    """There are too many models to be read in an error."""
    with pytest.raises(UnknownName) as told:
        manifest.select(["qqq"])
    assert str(told.value) == f"There is no model 'qqq'. Known: {', '.join(sorted(manifest.specs))}."


def test_a_defect_leads_to_the_model_that_shows_it(manifest: Manifest) -> None:
    """The one that fails in safety, for its counterexample is the shortest."""
    assert manifest.counterexample_model("dual_writers").name == "DualWriterRing/bug/dual_writers"
    with pytest.raises(UnknownName, match=r"no defect 'dual_writer'\. Did you mean 'dual_writers'\?"):
        manifest.counterexample_model("dual_writer")


MODEL = {"name": "X/design", "spec": "X", "module": "MCX", "cfg": "mc/MCX.cfg", "role": "design", "result": "success"}
FAILING = {"result": "safety failure", "expect": {"name": "Inv"}}


@pytest.mark.parametrize(
    ("models", "complaint"),
    [
        ([MODEL, MODEL], "X/design stands twice"),
        ([MODEL | {"spec": "Y"}], "unknown spec 'Y'"),
        ([MODEL | FAILING], "role design and the result safety failure"),
        ([MODEL | FAILING | {"role": "bug"}], "must name its defect"),
        ([MODEL | {"defect": "d"}], "must name its defect if, and only if"),
        ([MODEL | FAILING | {"role": "reach", "expect": {}}], "must name what fails"),
        ([MODEL | {"role": "desing"}], r"'desing' - at .*\.role`\. There are design, live, .*, graph\."),
        (
            [MODEL | {"result": "holds"}],
            r"There are success, safety failure, liveness failure, deadlock\.",
        ),
        (
            [MODEL | {"nightly": True, "expect": {"depth": 9}}],
            "expects a depth, which differs from run to run",
        ),
        ([MODEL | {"nightly": True, "leavesOut": ["Up"]}], "X/design leaves out actions, which are counted only"),
        ([MODEL | {"role": "live", "leavesOut": ["Up"]}], "X/design leaves out actions, which are counted only"),
        (
            [MODEL | {"leavesOut": ["Up"]}, MODEL | {"name": "X/design/full", "nightly": True}],
            "every design of X",
        ),
        ([MODEL | {"leavesOut": ["Up"]}], "every design of X leaves out Up"),
        ([MODEL | {"depht": 3}], "unknown field `depht`"),
    ],
)
def test_a_damaged_manifest_is_told_with_the_entry(tmp_path: Path, models: list[object], complaint: str) -> None:
    """Whatever is wrong, the error names the file and the place in it."""
    manifest = {"specs": {"X": {"about": "x", "actions": {}}}, "models": models}
    (tmp_path / "manifest.json").write_bytes(msgspec.json.encode(manifest))
    with pytest.raises(UsageError, match=f"manifest.json.*{complaint}.* Correct it there"):
        manifests.load(tmp_path)


@pytest.mark.parametrize("models", [[], [MODEL | {"name": "X/graph", "role": "graph"}]])
def test_to_check_nothing_is_no_success(tmp_path: Path, models: list[object]) -> None:
    """A manifest without a model that is checked unasked is refused, and not found to be all right."""
    manifest = {"specs": {"X": {"about": "x", "actions": {}}}, "models": models}
    (tmp_path / "manifest.json").write_bytes(msgspec.json.encode(manifest))
    with pytest.raises(UsageError, match="has no model that is chosen without its name"):
        manifests.load(tmp_path).select()


def test_the_folder_of_the_environment_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """OMNI_IPC_SPEC names specs of one's own; if there are none, that is an error."""
    (tmp_path / "manifest.json").write_bytes(
        msgspec.json.encode({"specs": {"X": {"about": "x", "actions": {}}}, "models": [MODEL]})
    )
    monkeypatch.setenv("OMNI_IPC_SPEC", str(tmp_path))
    loaded = manifests.load()
    assert loaded.models == (Model("X/design", "X", "MCX", "mc/MCX.cfg", Role.DESIGN, Outcome.SUCCESS),)
    monkeypatch.setenv("OMNI_IPC_SPEC", "/nowhere")
    with pytest.raises(UsageError, match=r"no manifest.json in '/nowhere'\. Let OMNI_IPC_SPEC name"):
        manifests.load()


def test_installed_specs_come_before_a_checkouts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wheel carries them inside of the package; a checkout has them beside it."""
    package = tmp_path / "omni_ipc"
    monkeypatch.delenv("OMNI_IPC_SPEC", raising=False)
    monkeypatch.setattr("omni_ipc.__file__", str(package / "__init__.py"))
    for folder in (tmp_path / "spec", package / "spec"):
        folder.mkdir(parents=True)
        (folder / "manifest.json").touch()
        assert manifests.find_folder() == folder


def test_a_missing_manifest_is_told(tmp_path: Path) -> None:
    """As any other file that cannot be read."""
    with pytest.raises(UsageError, match=r"Cannot read .*manifest.json': No such file"):
        manifests.load(tmp_path)
