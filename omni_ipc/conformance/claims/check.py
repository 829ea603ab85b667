"""Models against what the manifest expects of them."""

from __future__ import annotations

import contextlib
import enum
import functools
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed

import msgspec

from omni_ipc.conformance.models.configuration import Configuration
from omni_ipc.conformance.models.manifest import Manifest, Model, Outcome, Role
from omni_ipc.conformance.processes.children import Children
from omni_ipc.conformance.tlc.progress import Reached
from omni_ipc.conformance.tlc.result import Kind, Result
from omni_ipc.conformance.tlc.running import run_labelled, run_model
from omni_ipc.conformance.tlc.toolchain import Toolchain

_OUTCOMES = {
    Kind.SUCCESS: Outcome.SUCCESS,
    Kind.INVARIANT: Outcome.SAFETY,
    Kind.ACTION_PROPERTY: Outcome.SAFETY,
    Kind.TEMPORAL: Outcome.LIVENESS,
    Kind.DEADLOCK: Outcome.DEADLOCK,
}


class Status(enum.StrEnum):
    """What a check says."""

    EXPECTED = "as expected"
    UNEXPECTED = "not as expected"
    INCONCLUSIVE = "inconclusive"


class CheckResult(msgspec.Struct, frozen=True):
    """One model, checked."""

    model: Model
    status: Status
    reason: str  # one sentence
    bounds: str  # the constants that make the model finite: nothing is said beyond them
    result: Result


Progress = Callable[[int, int, CheckResult], object]
"""Called after each model with how many are done, how many there are, and the latest."""


def check(
    models: Sequence[Model],
    manifest: Manifest,
    *,
    toolchain: Toolchain,
    jobs: int = 2,
    begins: Callable[[Model], object] = lambda _: None,
    reaches: Callable[[Model, Reached], object] = lambda *_: None,
    progress: Progress = lambda *_: None,
) -> list[CheckResult]:
    """Check models, ``jobs`` at a time, and compare with their expectations; those for the night one after another.

    Args:
        begins: called with each model when its run of TLC begins, by the thread that waits for it.
        reaches: called by that thread once a minute, with how far TLC has come.

    Leaving early, by Ctrl-C or by an error, ends the runs of TLC that are under way, and no other begins.

    Returns:
        One result a model, in the order given.

    Raises:
        UsageError: a module or cfg is broken; tells the file and the line.
        EnvironmentMissing: Java cannot be started.
    """
    with ThreadPoolExecutor(max_workers=max(1, jobs), thread_name_prefix="tlc") as pool, Children() as children:
        checks = _Checks(manifest, toolchain, children, begins, reaches)
        runs = {pool.submit(checks.run, model): place for place, model in enumerate(models)}
        done = dict(_gather(runs, progress))
    return [done[place] for place in range(len(models))]


def judge(model: Model, spec_actions: Sequence[str], result: Result) -> tuple[Status, str]:
    """Compare what TLC found with what the manifest expects.

    Args:
        spec_actions: all actions of the spec; a design model must take each, and no other, if they are counted.
    """
    if result.kind not in _OUTCOMES:
        inconclusive = result.kind in (Kind.TRUNCATED, Kind.EVALUATION)
        return (Status.INCONCLUSIVE if inconclusive else Status.UNEXPECTED), f"{result.summary}: {result.message}"
    complaint = next(_complaints(model, spec_actions, result), None)
    return (Status.UNEXPECTED, complaint) if complaint else (Status.EXPECTED, _praise(model, result))


def _gather(runs: dict[Future[CheckResult], int], progress: Progress) -> Iterator[tuple[int, CheckResult]]:
    for count, run in enumerate(as_completed(runs), start=1):
        progress(count, len(runs), run.result())
        yield runs[run], run.result()


class _Checks:
    """What the checks of several models share."""

    def __init__(
        self,
        manifest: Manifest,
        toolchain: Toolchain,
        children: Children,
        begins: Callable[[Model], object],
        reaches: Callable[[Model, Reached], object],
    ) -> None:
        self._manifest = manifest
        self._toolchain = toolchain
        self._children = children
        self._begins = begins
        self._reaches = reaches
        self._night = threading.Lock()  # a run for the night takes all cores, and half of the memory

    def run(self, model: Model) -> CheckResult:
        with self._night if model.nightly else contextlib.nullcontext():
            self._begins(model)
            # Of a bug model the steps are asked for with their parameters: for words about it, and to try them on code.
            result = (run_labelled if model.role is Role.BUG else run_model)(
                model,
                self._manifest,
                toolchain=self._toolchain,
                children=self._children,
                reaches=functools.partial(self._reaches, model),
            )
        spec = self._manifest.specs[model.spec]
        actions = [*spec.actions, *([spec.termination] if spec.termination else [])]
        status, reason = judge(model, actions, result)
        bounds = Configuration.load(self._manifest.folder / model.cfg).bounds
        return CheckResult(model=model, status=status, reason=reason, bounds=bounds, result=result)


def _complaints(model: Model, spec_actions: Sequence[str], result: Result) -> Iterator[str]:
    outcome, expect = _OUTCOMES[result.kind], model.expect
    differing = _differing(spec_actions, result) if model.counts_actions else ""
    if outcome is not model.result:
        also = f"; {differing}" if differing and result.actions else ""
        yield f"it should end in {model.result}, but {_what_happened(result)}{also}."
    if expect.name != result.name and expect.name is not None:
        yield f"{expect.name} should fail, but {result.name} did."
    if expect.depth is not None and expect.depth != result.depth:
        yield f"the depth is {result.depth}, and {expect.depth} in the manifest."
    if model.distinct_states is not None and model.distinct_states != result.distinct:
        yield f"there are {result.distinct} distinct states, and {model.distinct_states} in the manifest."
    if model.counts_actions:
        if dead := sorted({*result.dead} - {*model.leaves_out}):
            yield f"never taken: {', '.join(dead)}. Its guard is too strict, or the bounds are too small."
        if taken := sorted({*model.leaves_out} - {*result.dead}):
            yield f"taken, though the manifest leaves them out here: {', '.join(taken)}."
        if differing:
            yield f"{differing}."


def _differing(spec_actions: Sequence[str], result: Result) -> str:
    """Say in which actions manifest and module differ; nothing if they do not."""
    lacking = ", ".join(sorted({*spec_actions} - result.actions.keys()))
    beyond = ", ".join(sorted(result.actions.keys() - {*spec_actions}))
    parts = [f"the manifest names {lacking}, which Next does not have"] if lacking else []
    return "; ".join([*parts, *([f"Next has {beyond}, which the manifest does not name"] if beyond else [])])


def _what_happened(result: Result) -> str:
    match result.kind:
        case Kind.SUCCESS:
            return "nothing fails"
        case Kind.DEADLOCK:
            return f"a stuck state was found at depth {result.depth}"
    return f"{result.name or 'a property'} fails at depth {result.depth}"


def _praise(model: Model, result: Result) -> str:
    match model.role:
        case Role.DESIGN if model.nightly:
            return f"holds in all {result.distinct} states: no stuck state."
        case Role.DESIGN:
            return (
                f"holds in all {result.distinct} states, to depth {result.depth}: "
                f"no stuck state, and each of {len(result.actions)} actions is taken."
            )
        case Role.LIVE | Role.REFINE:
            return f"holds in all {result.distinct} states, under fairness."
        case Role.REACH:
            return f"is reachable in {(result.depth or 1) - 1} steps."
    return f"{_what_happened(result)}, as it must."
