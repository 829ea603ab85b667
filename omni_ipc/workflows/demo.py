"""The main job: three races, each from its TLA+ model to real worker processes.

    model ─ TLC ─► counterexample ─► trace ─► replay on the code, state by state
                                       │      explore the code without it
                                       └────► real processes, real tensors, real shared memory

Every stage looks at both: the defect must show, and the reference must not.
"""

from __future__ import annotations

import contextlib
import enum
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from omni_ipc.conformance.claims.check import CheckResult, Status, check
from omni_ipc.conformance.counterexamples.counterexample import find_counterexample, save_itf, to_trace
from omni_ipc.conformance.models.manifest import Manifest, Role
from omni_ipc.conformance.models.manifest import load as load_manifest
from omni_ipc.conformance.processes.children import Children
from omni_ipc.conformance.processes.scratch import scratch_folder
from omni_ipc.conformance.tlc.toolchain import Toolchain
from omni_ipc.errors import Inconclusive, OmniError
from omni_ipc.records import Failure, Report, Trace, Verdict
from omni_ipc.scenarios import DEFECTS, SCENARIOS, Defect, Parts, Scenario
from omni_ipc.serving.host import WorkerHost
from omni_ipc.workflows.conducting import RealRun, best_device, run_on_processes
from omni_ipc.workflows.driven import follow_model
from omni_ipc.workflows.exploring import explore_scenario

RACES = ("late_split_map", "dual_writers", "unpack_outside_lock")
STRATEGY = "depth-first"

_HARMS = {
    "did not come within 1 s": "stranded after 1 s",
    "are published behind the header": "torn, and told at once",  # two records of different lengths in one place
    "did not answer call 1": "its answer lost, told after 1 s",  # clobbered by the output
}
"""By a part of its message, what a defect does to real processes."""


class Stage(enum.StrEnum):
    """What is shown of each race, in this order."""

    MODEL = "model"
    TRACE = "trace"
    REPLAY = "replay"
    EXPLORE = "explore"
    PROCESSES = "processes"


class Cell(msgspec.Struct, frozen=True):
    """One stage of one race."""

    race: str
    stage: Stage
    expected: bool  # whether it came as it must
    brief: str  # a few words, for the table
    detail: tuple[str, ...]  # sentences: what was seen of the defect, and of the reference


class Demo(msgspec.Struct, frozen=True):
    """The outcome of the main job."""

    cells: tuple[Cell, ...]
    device: str  # where the workers computed
    seconds: float

    @property
    def verdict(self) -> Verdict:
        """Holds only if every cell is as expected."""
        return Verdict.HOLDS if all(cell.expected for cell in self.cells) else Verdict.VIOLATED


Progress = Callable[[str, Stage, Cell | None], object]
"""Called with race and stage when a stage begins, and again with its cell when it is done."""


def run(*, keep: Path | None = None, progress: Progress = lambda *_: None) -> Demo:
    """Run every stage of every race.

    Args:
        keep: a folder for the traces (``<race>.trace.json``, ``<race>.itf.json``); a temporary one if not given.

    Raises:
        EnvironmentMissing: Java, TLC or torch is missing; tells the command that brings it.
        UsageError: ``keep`` cannot be written.
    """
    start = time.monotonic()
    toolchain = Toolchain.find()
    device = best_device()
    cells: list[Cell] = []
    with contextlib.ExitStack() as resources:
        folder = keep or resources.enter_context(scratch_folder())
        bench = _Bench(
            manifest=load_manifest(),
            toolchain=toolchain,
            children=resources.enter_context(Children()),
            host=resources.enter_context(WorkerHost()),
            device=device,
            folder=folder,
        )
        for name in RACES:
            defect = DEFECTS[name]
            race = _Race(bench, defect, SCENARIOS[defect.scenario])
            for stage, show in race.stages():
                progress(defect.name, stage, None)
                cells.append(cell_of(defect.name, stage, show))
                progress(defect.name, stage, cells[-1])
    return Demo(tuple(cells), device, time.monotonic() - start)


class Shown(msgspec.Struct, frozen=True):
    """What a stage gives: one side must fail, the other must not."""

    brief: str  # if both came as they must
    defect: tuple[bool, str]  # whether it came as it must, and a sentence
    reference: tuple[bool, str]


def cell_of(race: str, stage: Stage, show: Callable[[], Shown]) -> Cell:
    """Carry out one stage, and judge it: the defect must show, and the reference must not."""
    try:
        shown = show()
    except OmniError as error:  # this stage could not be carried out; the others still can
        return Cell(race, stage, False, type(error).__name__, (str(error),))
    complaints = [
        *([] if shown.defect[0] else ["the defect does not show"]),
        *([] if shown.reference[0] else ["the reference fails"]),
    ]
    return Cell(
        race=race,
        stage=stage,
        expected=not complaints,
        brief="; ".join(complaints) or shown.brief,
        detail=(f"defect: {shown.defect[1]}", f"reference: {shown.reference[1]}"),
    )


class _Bench(msgspec.Struct, frozen=True):
    """What all races share."""

    manifest: Manifest
    toolchain: Toolchain
    children: Children
    host: WorkerHost
    device: str
    folder: Path


class _Race:
    """One race on its way through the stages."""

    def __init__(self, bench: _Bench, defect: Defect, scenario: Scenario) -> None:
        self._bench = bench
        self._defect = defect
        self._scenario = scenario
        self._trace: Trace | None = None

    def stages(self) -> Iterator[tuple[Stage, Callable[[], Shown]]]:
        yield Stage.MODEL, self._check_models
        yield Stage.TRACE, self._make_trace
        yield Stage.REPLAY, self._replay
        yield Stage.EXPLORE, self._explore
        yield Stage.PROCESSES, self._run_processes

    def _check_models(self) -> Shown:
        """TLC: the design holds within its bounds; the model with the defect fails on its property."""
        of_spec = self._bench.manifest.select((self._scenario.require_model(),))
        models = [model for model in of_spec if model.defect in (None, self._defect.name)]  # mutants are for `check`
        results = check(models, self._bench.manifest, toolchain=self._bench.toolchain)
        design = next(result for result in results if result.model.role is Role.DESIGN)
        bug = self._bench.manifest.counterexample_model(self._defect.name)
        broken = next(result for result in results if result.model.name == bug.name)
        bad, good = _partition(results)
        return Shown(
            brief=f"{design.result.distinct} states hold; {broken.result.name} fails at depth {broken.result.depth}",
            defect=_all_expected(bad, broken),
            reference=_all_expected(good, design),
        )

    def _make_trace(self) -> Shown:
        """The counterexample becomes a file of semantic steps, and an ITF file; what is read back equals it."""
        bench = self._bench
        model = bench.manifest.counterexample_model(self._defect.name)
        result = find_counterexample(model, bench.manifest, toolchain=bench.toolchain, children=bench.children)
        made = to_trace(result, model=model, scenario=self._scenario.name, tasks=self._scenario.tasks)
        path = made.save(bench.folder / f"{self._defect.name}.trace.json")
        itf = save_itf(result, path.with_name(f"{self._defect.name}.itf.json"), model=model)
        self._trace = Trace.load(path)
        return Shown(
            brief=f"{len(made.steps)} steps",
            defect=(self._trace == made, f"{path.name} and {itf.name}: {', then '.join(map(str, made.steps))}."),
            reference=(True, "has no counterexample."),
        )

    def _replay(self) -> Shown:
        """Under control, with the code's state compared with the model's after each step."""
        trace = self._required_trace()
        bad = follow_model(trace, self._scenario, self._defect.parts)
        good = follow_model(trace, self._scenario, Parts())
        ending = f"refused at step {good.refusal.step}" if good.refusal else "ends well"
        return Shown(
            brief=f"same bad state; reference {ending}",
            defect=(bad.reproduced, bad.way + _ending(bad.failure)),
            reference=(good.failure is None, good.way + _ending(good.failure)),
        )

    def _explore(self) -> Shown:
        """Without the trace: the explorer finds the failure by itself, and exhausts the reference."""
        bad = explore_scenario(self._scenario.name, defect=self._defect.name, strategy=STRATEGY)
        good = explore_scenario(self._scenario.name, strategy=STRATEGY)
        return Shown(
            brief=f"found in {bad.schedules} schedules; reference holds in {good.schedules}",
            defect=(bad.verdict is Verdict.VIOLATED, _tell_search(bad)),
            reference=(good.verdict is Verdict.HOLDS, _tell_search(good)),
        )

    def _run_processes(self) -> Shown:
        """The same trace on a spawned worker, with torch tensors over shared memory."""
        trace, bench = self._required_trace(), self._bench
        bad, good = (
            run_on_processes(self._scenario, parts, trace.steps, device=bench.device, host=bench.host)
            for parts in (self._defect.parts, Parts())
        )
        message = "" if bad.failure is None else bad.failure.message
        harm = next((harm for sign, harm in _HARMS.items() if sign in message), None)
        return Shown(
            brief=f"{harm}; reference delivers all",
            defect=(bad.conducted.whole and harm is not None, _tell_run(bad)),
            reference=(good.failure is None, _tell_run(good)),
        )

    def _required_trace(self) -> Trace:
        if self._trace is None:
            raise Inconclusive("There is no trace to replay, because its own stage failed. Mend that first.")
        return self._trace


def _partition(results: list[CheckResult]) -> tuple[list[CheckResult], list[CheckResult]]:
    """Split into those of the defect, and the others."""
    return (
        [result for result in results if result.model.role is Role.BUG],
        [result for result in results if result.model.role is not Role.BUG],
    )


def _all_expected(results: list[CheckResult], shown: CheckResult) -> tuple[bool, str]:
    """Tell about one model if all are as expected, else about those that are not."""
    wrong = [result for result in results if result.status is not Status.EXPECTED]
    told = wrong or [shown]
    others = [result.model.name.partition("/")[2] for result in results if result is not shown]
    also = "" if wrong else f" As expected, too: {', '.join(others)}."
    return not wrong, " ".join(f"{result.model.name} ({result.bounds}) {result.reason}" for result in told) + also


def _tell_search(report: Report) -> str:
    if report.verdict is Verdict.VIOLATED:
        return f"schedule {report.schedules:,} of {report.strategy} fails.{_ending(report.failure)}"
    return f"{report.verdict.value}: {report.reason}, by {report.strategy}."


def _tell_run(run: RealRun) -> str:
    conducted = run.conducted
    way = f"{conducted.followed} of {conducted.of} steps ran in their turn"
    if conducted.refusal:
        way += f" ({conducted.refusal})"
    return f"{way}, in {run.seconds:.1f} s.{_ending(run.failure)}"


def _ending(failure: Failure | None) -> str:
    """Say how a run ended; of a lost output, what it was and where things lie instead."""
    if failure is None:
        return " Every output arrived, byte for byte."
    lost = "; ".join(line.partition(" If the work is merely slow")[0] for line in failure.message.splitlines())
    return f" {failure.kind.value.capitalize()}: {lost}" + (f" ({failure.where})" if failure.where else "")
