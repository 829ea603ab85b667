"""Models of the manifest, checked with this machine's TLC, as a record."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Protocol

import msgspec

from omni_ipc.conformance.claims.check import CheckResult, Status, check
from omni_ipc.conformance.counterexamples.explaining import Explainer
from omni_ipc.conformance.models.manifest import Role, load
from omni_ipc.conformance.processes.children import Children
from omni_ipc.conformance.tlc.progress import Reached
from omni_ipc.conformance.tlc.result import Kind
from omni_ipc.conformance.tlc.toolchain import Toolchain
from omni_ipc.errors import OmniError, UsageError
from omni_ipc.records import Verdict
from omni_ipc.violations import Violation

_VERDICTS = {
    Status.EXPECTED: Verdict.BOUNDED,  # whatever TLC says, it says within the bounds of the model
    Status.UNEXPECTED: Verdict.VIOLATED,
    Status.INCONCLUSIVE: Verdict.INCONCLUSIVE,
}


class CheckedModel(msgspec.Struct, frozen=True):
    """What TLC found in one model, and whether it had to."""

    model: str
    role: Role
    verdict: Verdict  # of the claim that TLC finds what the manifest says
    reason: str  # one sentence
    bounds: str  # the constants that make the model finite
    found: Kind
    property: str | None  # that is violated
    depth: int | None  # states on the way to the violation; else depth of the search
    distinct_states: int
    queue: int  # of these, those whose steps were not looked at when TLC stopped
    seconds: float
    is_kept: bool = False  # TLC has found it some time ago
    violation: Violation | None = None  # the counterexample, told: of what must not fail, or if it was asked for
    note: str = ""  # why it could not be told


class Checked(msgspec.Struct, frozen=True):
    """All models that were asked for, in the order of the manifest."""

    models: tuple[CheckedModel, ...]
    tlc: str  # which one: the digest of the jar, or an image

    @property
    def verdict(self) -> Verdict:
        """Of all together: one violation decides, then one that is inconclusive."""
        found = {model.verdict for model in self.models}
        return next((v for v in (Verdict.VIOLATED, Verdict.INCONCLUSIVE) if v in found), Verdict.BOUNDED)


class Progress(Protocol):
    """Hears what goes on."""

    def begins(self, model: str) -> None: ...
    def reaches(self, model: str, reached: Reached) -> None: ...
    def ends(self, model: str, done: int, total: int) -> None: ...


def check_models(names: Sequence[str], *, jobs: int, explain: bool, progress: Progress) -> Checked:
    """Check the models whose names begin with ``names``, or all.

    Args:
        jobs: runs of TLC at a time; each takes up to 1 GiB, and one for the night half of the memory.
        explain: tell the counterexamples of models that must fail, too.

    Raises:
        UnknownName: a name selects no model.
        UsageError: ``jobs`` is not positive, or the manifest, a module or a cfg is broken.
        EnvironmentMissing: there is no Java, or no TLC.
    """
    if jobs < 1:
        raise UsageError(f"jobs must be positive, and is {jobs}. Leave it out for two runs of TLC at a time.")
    manifest = load()
    models = manifest.select(names)
    toolchain = Toolchain.find()
    results = check(
        models,
        manifest,
        toolchain=toolchain,
        jobs=jobs,
        begins=lambda model: progress.begins(model.name),
        reaches=lambda model, reached: progress.reaches(model.name, reached),
        progress=lambda done, total, latest: progress.ends(latest.model.name, done, total),
    )
    with Children() as children:
        explainer, records = Explainer(manifest, toolchain, children), []
        for result in results:
            to_tell = result.result.trace and (explain or result.status is Status.UNEXPECTED)
            told = _told(result, explainer, progress) if to_tell else (None, "")
            records.append(_record(result, *told))
    return Checked(tuple(records), toolchain.identity())


def _told(checked: CheckResult, explainer: Explainer, progress: Progress) -> tuple[Violation | None, str]:
    """Tell the counterexample, or why it cannot be told: that it is there is known already."""
    telling = f"telling {checked.model.name}"
    progress.begins(telling)
    try:
        return explainer.explain(checked.model, functools.partial(progress.reaches, telling), checked.result), ""
    except OmniError as error:
        return None, str(error)


def _record(checked: CheckResult, violation: Violation | None, note: str) -> CheckedModel:
    return CheckedModel(
        model=checked.model.name,
        role=checked.model.role,
        verdict=_VERDICTS[checked.status],
        reason=checked.reason,
        bounds=checked.bounds,
        found=checked.result.kind,
        property=checked.result.name,
        depth=checked.result.depth,
        distinct_states=checked.result.distinct,
        queue=checked.result.queue,
        seconds=checked.result.seconds,
        is_kept=checked.result.is_kept,
        violation=violation,
        note=note,
    )
