"""What a model speaks of in recordings: its lens, one entry of ``trace/lenses.json``."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from pathlib import Path

import msgspec

from omni_ipc.conformance.models.manifest import Manifest, Spec, installed_folders
from omni_ipc.conformance.recordings.sessions import Step
from omni_ipc.documents import read_document
from omni_ipc.errors import UnknownName
from omni_ipc.recordings import Change
from omni_ipc.records import Field


class Lens(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One model, as recordings show it.

    Args:
        module: extends the model's and `Recording`; "TraceSplitMap".
        also: further actions, with their parameters as in the manifest, of modules that the model extends: its own
            clients do not take them, and real ones do.
        observes: object -> field -> the variable that must change as the field does.
        ranges: variable -> the constant that its members are of, if it is a set of ids.
        fields: action -> parameter -> field of the region, where their names differ; "task" is the task's name, and an
            empty one says that the recording does not tell.
        values: of parameters, where the model has other names: "worker.main" is "main".
        tasks: action -> the only task that the model knows to take it; where another one does, its ids leave.
        unseen: action -> what the model does right before it, of which no recording tells; may speak of the ``step``.
        raises: actions that the model takes even where they raise.
        taken: action -> how the trace module takes a ``step`` of it.
        after: action -> another one: where that has not come before of the same ids, it is not the model's, and they
            leave.
        needs: action -> another one: where that has come neither before nor behind, of the same ids, it is not the
            model's, and they leave.
        killed: a prefix of regions, and the action that is the death of a process that has such.
        numbered: action -> the parameter that counts its steps, whoever takes them: what comes behind a number that
            another task has taken is not the model's, and leaves.
        alone: an object; where there are several, a session is left out.
        longest: how many steps are looked at, if ids are no families.
        together: whether several sessions may be looked at in one search, if ids are no families.
        causes: effect -> its cause: of the same parameters, the cause came first.
        until: a step that takes hold of something -> the one that lets go: who leaves in between has not taken hold.
        single: action -> a variable of which the model takes one member at most; where more go, the ids leave.
        intruding: actions of destructors, which may come inside of any other one, and are no part of it: their ids
            leave then.
        lost: regions behind which the model cannot follow whom they name: their ids leave.
            Of any task, or of one, or of all others: "task: region", "not task: region".
        beyond: regions, likewise, of what the model does not speak of; a family that meets one is left out.
        defined: constant or definition of the model -> what the trace module defines for it.
        assigned: constant of the model -> its value, as in a cfg.
        told: constant of the model -> object and field that tell its value; where they do not, a session is left out.
        listed: action -> the parameter whose values the trace module has beside the steps, in their order.
        whole: the constant that has the name of each family, even if no step bears it.
        families: what separates the name of a family from the rest of an id; without it all ids are one family.
    """

    module: str
    also: dict[str, dict[str, str]] = {}
    observes: dict[str, dict[str, str]] = {}
    ranges: dict[str, str] = {}
    fields: dict[str, dict[str, str]] = {}
    values: dict[str, str] = {}
    tasks: dict[str, str] = {}
    unseen: dict[str, str] = {}
    raises: tuple[str, ...] = ()
    taken: dict[str, str] = {}
    after: dict[str, str] = {}
    needs: dict[str, str] = {}
    killed: tuple[str, str] = ("", "")
    numbered: dict[str, str] = {}
    alone: str = ""
    longest: int = 0
    together: bool = False
    causes: dict[str, str] = {}
    until: dict[str, str] = {}
    single: dict[str, str] = {}
    intruding: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    beyond: tuple[str, ...] = ()
    defined: dict[str, str] = {}
    assigned: dict[str, str] = {}
    told: dict[str, tuple[str, str]] = {}
    listed: dict[str, str] = {}
    whole: str = ""
    families: str = ""

    def observed(self, step: Step) -> Iterator[tuple[str, Change]]:
        """Give the changes that a step shows of what the model knows, by variable."""
        for (name, field), change in step.changes.items():
            if (variable := self.observes.get(name, {}).get(field)) is not None:
                yield variable, change

    def takes_unseen(self, action: str) -> bool:
        """Tell whether the model may take an action of which no recording tells."""
        return any(re.search(rf"\b{action}\b", taken) for taken in self.unseen.values())

    def names(self, step: Step, regions: Collection[str]) -> bool:
        """Tell whether a step is one of some regions, by whoever takes it."""
        others = (each for each in regions if each.startswith("not ") and each.endswith(f": {step.action}"))
        return (
            step.action in regions
            or f"{step.task}: {step.action}" in regions
            or any(each != f"not {step.task}: {step.action}" for each in others)
        )

    def families_of(self, step: Step) -> Iterator[str]:
        """Name the families whose ids are fields of a step."""
        yield from map(self.family, step.fields.values() if self.families else [""])

    def family(self, value: Field) -> str:
        """Name the family of an id."""
        return str(value).partition(self.families)[0] if self.families else ""


def load_lenses(manifest: Manifest) -> dict[str, Lens]:
    """Read the lenses of a folder of specs: ``trace/lenses.json``.

    Raises:
        UsageError: there is none, or it is damaged.
    """
    missing = "Say there how recordings show the models: docs/how-to/own-spec.md, section 4, has an example."
    return read_document(lenses_file(manifest), dict[str, Lens], missing=missing, wrong="is no table of lenses")


def trace_folder(manifest: Manifest) -> Path:
    """The folder of what concerns recordings."""
    return manifest.folder / "trace"


def lenses_file(manifest: Manifest) -> Path:
    """The file of the lenses."""
    return trace_folder(manifest) / "lenses.json"


def trace_library(manifest: Manifest) -> tuple[Path, ...]:
    """The folders of modules for recordings; `Recording` need not be copied to specs of one's own."""
    return (trace_folder(manifest), *(folder / "trace" for folder in installed_folders()))


def find_lens(name: str, manifest: Manifest) -> tuple[Spec, Lens]:
    """Look up a spec, as recordings show it, with its lens.

    Raises:
        UnknownName: there is no spec of that name, or no lens for it.
    """
    lenses = load_lenses(manifest)
    if name not in lenses or name not in manifest.specs:
        raise UnknownName("spec with a lens for recordings", name, lenses.keys() & manifest.specs.keys())
    spec, lens = manifest.specs[name], lenses[name]
    return msgspec.structs.replace(spec, actions=spec.actions | lens.also), lens
