"""Replays an explored trace: strictly, step for step, or mended for code that was edited since."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Collection, Mapping, Sequence

import msgspec

from omni_ipc.errors import UnknownName, UsageError
from omni_ipc.records import Failure, Origin, Trace
from omni_ipc.testbed.confirming import confirm
from omni_ipc.testbed.explain.causes import find_causes
from omni_ipc.testbed.faults.kernel import Fault
from omni_ipc.testbed.faults.names import parsed
from omni_ipc.testbed.following import Diverged, Following
from omni_ipc.testbed.repairing import follow_repairing
from omni_ipc.testbed.runner import Runner, Scenario
from omni_ipc.testbed.shrink import shrink_order
from omni_ipc.testbed.strategies import STRATEGIES
from omni_ipc.testbed.strategies.base import Run
from omni_ipc.testbed.traces import steps_worth_keeping


class Mode(enum.StrEnum):
    """What a replay does where the code is not what the trace was recorded on."""

    STRICT = "strict"  # tells the first difference
    TOLERANT = "tolerant"  # skips what is gone, lets run what is new, and tells that


@dataclasses.dataclass(frozen=True, slots=True)
class ReplayResult:
    """What came of a replay.

    Args:
        followed: steps taken as in the trace.
        diverged: where a strict replay left the trace; or where all steps were taken, and other tasks could go on.
        value: what the scenario returned, if it did.
        trace: the steps that were taken, and the failure.
        repairs: of a tolerant replay, what was done to follow the trace, a sentence each.
    """

    followed: int
    diverged: Diverged | None
    failure: Failure | None
    value: object
    trace: Trace
    repairs: tuple[str, ...] = ()


def replay(
    scenario: Scenario,
    trace: Trace,
    *,
    mode: str = Mode.STRICT,
    renamed: Mapping[str, str] | None = None,
    then: str = "depth-first",
    seed: int = 0,
    transparent: Collection[str] = (),
    max_steps: int = 10_000,
    faults: Sequence[Fault | str] | None = None,
) -> ReplayResult:
    """Run a scenario along an explored trace, under its memory order and with its faults.

    Strictly, each step is taken by the same task, with the same action and fields; fields that only one side has do not
    count. Where the run leaves the trace, it goes on to its end all the same.

    Args:
        mode: a `Mode`.
        renamed: task in the trace -> its name now, for a tolerant replay; others are looked for by what they do.
        then: key of the strategy that goes on after the trace; "depth-first" goes on in the default order.
        seed: of that strategy.
        faults: what may go wrong, if that is not what could when the trace was made.

    Raises:
        UsageError: the trace comes from a model, and so has only some of the steps; `Stepper` follows such a trace.
        UnknownName: there is no such mode or strategy.
        Inconclusive: something was not under control.
    """
    _require_explored(trace)
    if mode not in list(Mode):
        raise UnknownName("mode of replay", mode, list(Mode))
    if then not in STRATEGIES:
        raise UnknownName("strategy", then, STRATEGIES)
    possible = parsed(trace.faults if faults is None else faults)
    trace = _under(trace, possible)
    with _runner(scenario, trace, possible, transparent, max_steps) as runner:
        if mode == Mode.TOLERANT:
            mended = follow_repairing(runner, trace, renamed or {})
            run = mended.run
            made = _trace(runner, trace, run)
            return ReplayResult(mended.followed, None, run.failure, run.value, made, mended.repairs)
        strategy = STRATEGIES[then](seed)
        strategy.next_prefix()
        chooser = Following(trace.steps, strategy)
        run = runner.run(chooser, record=True)
        made = _trace(runner, trace, run)
    return ReplayResult(chooser.followed, chooser.divergence(), run.failure, run.value, made)


def still_failing(
    scenario: Scenario,
    trace: Trace,
    *,
    transparent: Collection[str] = (),
    max_steps: int = 10_000,
    faults: Sequence[Fault] = (),
) -> Trace | None:
    """Replay the trace of a failure tolerantly, and return that of what fails now, each time; None if nothing does.

    Args:
        faults: what may go wrong now.

    Raises:
        UsageError: the trace comes from a model.
        Inconclusive: it does not fail in the same way each time, or something was not under control.
    """
    _require_explored(trace)
    trace = _under(trace, faults)
    with _runner(scenario, trace, faults, transparent, max_steps) as runner:
        run = follow_repairing(runner, trace, {}).run
        if run.failure is None:
            return None
        confirm(runner, run.order, run.failure)
        return _trace(runner, trace, run)


def shrink(scenario: Scenario, trace: Trace, *, transparent: Collection[str] = (), max_steps: int = 10_000) -> Trace:
    """Find a simpler trace that fails in the same way; the same steps if there is none.

    Raises:
        UsageError: the trace comes from a model, or the scenario does not fail along it.
        Inconclusive: something was not under control.
    """
    _require_explored(trace)
    chooser = Following(trace.steps, STRATEGIES["depth-first"](0))
    with _runner(scenario, trace, parsed(trace.faults), transparent, max_steps) as runner:
        run = runner.run(chooser)
        if run.failure is None:
            reason = chooser.divergence() or "it ends well"
            raise UsageError(f"The scenario does not fail along this trace: {reason}. Explore it anew.")
        return _trace(runner, trace, runner.record(shrink_order(runner, run.order, run.failure)))


def _under(trace: Trace, faults: Sequence[Fault]) -> Trace:
    return msgspec.structs.replace(trace, faults=tuple(map(str, faults)))


def _runner(
    scenario: Scenario, trace: Trace, faults: Sequence[Fault], transparent: Collection[str], max_steps: int
) -> Runner:
    """Make the runner that a trace was recorded with, but for what may go wrong."""
    return Runner(
        scenario,
        transparent=transparent,
        max_steps=max_steps,
        memory=trace.memory,
        faults=faults,
        instrument=trace.instrument,
        points=trace.points,
    )


def _require_explored(trace: Trace) -> None:
    if trace.origin is not Origin.EXPLORED:
        raise UsageError(f"A trace of origin '{trace.origin}' has only some of the steps. Follow it with a Stepper.")


def _trace(runner: Runner, trace: Trace, run: Run) -> Trace:
    """Return the trace of a run of the same scenario."""
    steps = steps_worth_keeping(run)
    causes = trace.causes if steps == trace.steps else find_causes(runner, run)
    pending = tuple(step for _, step in run.pending)
    return msgspec.structs.replace(trace, steps=steps, pending=pending, failure=run.failure, causes=causes)
