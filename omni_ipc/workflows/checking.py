"""Models of the manifest, checked with this machine's TLC, as a record."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from omni_ipc.conformance.check import CheckResult, Status, check
from omni_ipc.conformance.manifest import Role, load
from omni_ipc.conformance.result import Kind
from omni_ipc.conformance.toolchain import Toolchain
from omni_ipc.errors import UsageError
from omni_ipc.records import Verdict

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
    seconds: float


class Checked(msgspec.Struct, frozen=True):
    """All models that were asked for, in the order of the manifest."""

    models: tuple[CheckedModel, ...]
    tlc: str  # which one: the digest of the jar, or an image

    @property
    def verdict(self) -> Verdict:
        """Of all together: one violation decides, then one that is inconclusive."""
        found = {model.verdict for model in self.models}
        return next((v for v in (Verdict.VIOLATED, Verdict.INCONCLUSIVE) if v in found), Verdict.BOUNDED)


Progress = Callable[[CheckedModel | None, int, int], object]
"""Called with the model that is done (None before the first), how many are done, and how many there are."""


def check_models(names: Sequence[str] = (), *, jobs: int = 2, progress: Progress = lambda *_: None) -> Checked:
    """Check the models whose names begin with ``names``, or all.

    Args:
        jobs: runs of TLC at a time; each takes up to 1 GiB.

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
    progress(None, 0, len(models))
    results = check(
        models,
        manifest,
        toolchain=toolchain,
        jobs=jobs,
        progress=lambda done, total, latest: progress(_record(latest), done, total),
    )
    return Checked(tuple(map(_record, results)), toolchain.identity())


def _record(checked: CheckResult) -> CheckedModel:
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
        seconds=checked.result.seconds,
    )
