"""The manifest of the specs: which models there are, and what TLC must find in each.

`manifest.json` extends the schema of tlaplus/Examples. A model has a name of up to four parts:

    SplitMap/design                    must hold: invariants, no stuck state, no dead action
    SplitMap/live                      must hold: what happens in the end, under fairness
    SplitMap/refines                   must hold: it implements a spec of abs/
    SplitMap/bug/late_split_map        must fail, on the property that the manifest names
    SplitMap/bug/late_split_map/live   must fail too, for another reason
    SplitMap/reach/early               must fail: the interesting state is reachable
    SplitMap/graph                     must hold, in the bounds of the code that is walked along each of its steps

Any front part selects: ``SplitMap`` all of the spec, ``SplitMap/bug`` its defects.
"""

from __future__ import annotations

import enum
import os
from collections.abc import Iterable
from pathlib import Path

import msgspec

import omni_ipc
from omni_ipc.documents import read_document
from omni_ipc.errors import UnknownName, UsageError

ENVIRONMENT = "OMNI_IPC_SPEC"


class Role(enum.StrEnum):
    """What a model is for."""

    DESIGN = "design"
    LIVE = "live"
    REFINE = "refine"
    BUG = "bug"
    REACH = "reach"
    GRAPH = "graph"


class Outcome(enum.StrEnum):
    """What TLC must find."""

    SUCCESS = "success"
    SAFETY = "safety failure"
    LIVENESS = "liveness failure"
    DEADLOCK = "deadlock"


class Expect(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The particulars of the outcome."""

    name: str | None = None  # of the property that fails
    depth: int | None = None  # states of the counterexample; of a success: depth of the state graph


class Spec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One module at code grain."""

    about: str  # one sentence
    actions: dict[str, dict[str, str]]  # action -> parameter -> the constant of the cfg that it ranges over
    termination: str | None = None  # the self-step of a finished system
    choices: tuple[str, ...] = ()  # actions with parameters that the code chooses, by what the model does not know


class Model(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """One module, one cfg, one expectation."""

    name: str
    spec: str
    module: str
    cfg: str  # relative to the folder of the manifest
    role: Role
    result: Outcome
    expect: Expect = Expect()
    distinct_states: int | None = None
    defect: str | None = None
    flags: tuple[str, ...] = ()  # further ones for TLC
    leaves_out: tuple[str, ...] = ()  # actions that no step of a design takes in these bounds, but in those of another
    budget_s: float = 60.0
    nightly: bool = False  # too large for every day: several workers of TLC search it, and count no actions
    note: str = ""

    @property
    def counts_actions(self) -> bool:
        """Whether each action of its spec must be taken, or be among those that it leaves out."""
        return self.role is Role.DESIGN and not self.nightly


class Manifest(msgspec.Struct, frozen=True):
    """All specs and models of one folder."""

    folder: Path
    specs: dict[str, Spec]
    models: tuple[Model, ...]

    def select(self, names: Iterable[str] = ()) -> tuple[Model, ...]:
        """The models whose names are, or begin with, one of ``names``, in the order of the manifest.

        Without names all but those that are there for their state graphs, which repeat a design in other bounds. One
        that is for the night must be named in full.

        Raises:
            UnknownName: a name selects nothing.
            UsageError: there are no names, and no model that is selected without.
        """
        wanted = list(names)
        for name in wanted:
            if not any(_begins(model.name, name) for model in self.models):
                raise UnknownName("model", name, {*self.specs, *(model.name for model in self.models)})
        if not wanted:
            chosen = tuple(model for model in self.models if model.role is not Role.GRAPH and not model.nightly)
            if not chosen:
                raise UsageError(
                    f"'{self.folder / 'manifest.json'}' has no model that is chosen without its name. Add one there: "
                    "docs/how-to/own-spec.md shows how."
                )
            return chosen
        return tuple(
            model
            for model in self.models
            if model.name in wanted or (not model.nightly and any(_begins(model.name, name) for name in wanted))
        )

    def graph_model(self, spec: str) -> Model:
        """The model whose state graph code is walked along.

        Raises:
            UnknownName: there is no such spec, or none of its models is for that.
        """
        graphs = {model.spec: model for model in self.models if model.role is Role.GRAPH}
        if spec not in graphs:
            raise UnknownName("model with a state graph", spec, graphs)
        return graphs[spec]

    def counterexample_model(self, defect: str) -> Model:
        """The model whose safety failure shows a defect; the first of the manifest, and so the smallest.

        Raises:
            UnknownName: no model has this defect.
        """
        showing = {m.defect: m for m in reversed(self.models) if m.defect and m.result is Outcome.SAFETY}
        if defect not in showing:
            raise UnknownName("defect", defect, filter(None, showing))
        return showing[defect]

    def library(self) -> tuple[Path, ...]:
        """The folders in which modules are looked up."""
        return (self.folder, self.folder / "abs", self.folder / "mc")


def find_folder() -> Path:
    """The folder of the specs: what OMNI_IPC_SPEC names, else the installed ones, else the checkout's.

    Raises:
        UsageError: there is no manifest there.
    """
    named = os.environ.get(ENVIRONMENT)
    folders = [Path(named)] if named else installed_folders()
    for folder in folders:
        if (folder / "manifest.json").is_file():
            return folder.absolute()
    raise UsageError(
        f"There is no manifest.json in {' or '.join(map(repr, map(str, folders)))}. "
        f"Let {ENVIRONMENT} name a folder that has one, or install omni-ipc again."
    )


def installed_folders() -> list[Path]:
    """Where the specs of this project may lie: in the package, or beside it in a checkout."""
    package = Path(omni_ipc.__file__).parent
    return [package / "spec", package.parent / "spec"]


def load(folder: Path | None = None) -> Manifest:
    """Read and validate the manifest.

    Raises:
        UsageError: it is missing, damaged, or contradicts itself; names the entry.
    """
    folder = folder or find_folder()
    path = folder / "manifest.json"
    raw = read_document(path, _File, missing="Give a folder that has a manifest.json.", wrong="is no manifest")
    manifest = Manifest(folder, raw.specs, raw.models)
    for complaint in _complaints(manifest):
        raise UsageError(f"'{path}' contradicts itself: {complaint} Correct it there.")
    return manifest


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    specs: dict[str, Spec]
    models: tuple[Model, ...]


def _complaints(manifest: Manifest) -> Iterable[str]:
    seen: set[str] = set()
    for model in manifest.models:
        must_fail = model.role in (Role.BUG, Role.REACH)
        if model.name in seen:
            yield f"the name {model.name} stands twice."
        if model.spec not in manifest.specs:
            yield f"{model.name} belongs to the unknown spec '{model.spec}'."
        if must_fail == (model.result is Outcome.SUCCESS):
            yield f"{model.name} has the role {model.role} and the result {model.result}."
        if (model.role is Role.BUG) != (model.defect is not None):
            yield f"{model.name} must name its defect if, and only if, its role is bug."
        if (model.result in (Outcome.SAFETY, Outcome.LIVENESS)) != (model.expect.name is not None):
            yield f"{model.name} must name what fails if, and only if, a property fails."
        if model.nightly and model.expect.depth is not None:
            yield f"{model.name} expects a depth, which differs from run to run where several workers search at once."
        if model.leaves_out and not model.counts_actions:
            yield f"{model.name} leaves out actions, which are counted only of a design that is not nightly."
        seen.add(model.name)
    for spec in manifest.specs:
        designs = [{*model.leaves_out} for model in manifest.models if model.spec == spec and model.counts_actions]
        if designs and (left := sorted(set.intersection(*designs))):
            yield f"every design of {spec} leaves out {', '.join(left)}."


def _begins(name: str, front: str) -> bool:
    return name == front or name.startswith(f"{front.rstrip('/')}/")
