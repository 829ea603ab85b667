"""The exploration engine against what else looks for races in Python: the same kernels, all in one run, in turn."""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from omni_ipc.errors import EnvironmentMissing
from omni_ipc.workflows.bench import contestants, explore_goals, goals
from omni_ipc.workflows.bench.contestants import CONTESTANTS, Contestant, Process
from omni_ipc.workflows.bench.explorers.serving import HOLDS, UNABLE, VIOLATED, Answer, Question
from omni_ipc.workflows.bench.goals import Verdict
from omni_ipc.workflows.bench.rows import Results

Progress = Callable[[str, int, int | None], object]

_REGISTRY = "tests.kernels.registry"
TWIN = ", twin"
_SPARED = 3.0  # most explorations end long before they have to
_LEAST_S = 0.02
_CHAIN_S = 0.5
_EXPLORERS = "omni_ipc.workflows.bench.explorers"
_CHAINS: tuple[tuple[str, str, str, list[str]], ...] = (
    *((explore_goals.FASTEST, f"chains.steps_{steps}", f"{steps} steps", []) for steps in (20, 100, 500)),
    (explore_goals.DPOR, "chains.in_conflict", "20 steps in conflict", []),
    *(
        (explore_goals.FASTEST, f"installed.{name}", work, ["cachetools"])
        for name, work in explore_goals.INSTALLED.items()
    ),
)


class Plan(NamedTuple):
    """How long to look.

    Args:
        total_s: of all repetitions together; the making of environments is not counted.
        fault_s, twin_s: at most, for one fault, and for one twin.
        every: takes each such kernel: 3 for a third of them.
        quick: takes the contestants that are quick, and not all.
    """

    total_s: float
    fault_s: float
    twin_s: float
    every: int
    quick: bool


QUICK = Plan(total_s=36, fault_s=0.3, twin_s=0.2, every=3, quick=True)
FULL = Plan(total_s=900, fault_s=2.0, twin_s=0.5, every=1, quick=False)


@dataclass(frozen=True)
class Comparison:
    """What a run gave."""

    results: Results
    verdicts: list[Verdict]
    left_out: dict[str, str]  # contestant, or contestant and kernel → why
    false_passes: dict[str, list[str]]  # contestant → kernels
    false_alarms: dict[str, list[str]]
    repetitions: int
    seconds: float


def find_kernels(folder: Path) -> Sequence[Any]:
    """Load the kernels of a checkout.

    Raises:
        EnvironmentMissing: there are none.
    """
    if not (folder / "tests" / "kernels" / "registry.py").is_file():
        raise EnvironmentMissing(
            f"There is no tests/kernels in {folder}.", "Run it in a checkout: the package has none."
        )
    sys.path.insert(0, str(folder))
    try:
        return importlib.import_module(_REGISTRY).PLAIN  # type: ignore[no-any-return]
    finally:
        sys.path.remove(str(folder))


def compare(
    plan: Plan,
    *,
    kernels: Sequence[Any],
    folder: Path,
    entries: Sequence[Contestant] = CONTESTANTS,
    progress: Progress,
) -> Comparison:
    """Ask every contestant for every kernel and its twin, in turn, again and again with other seeds.

    Args:
        plan: how long.
        kernels: what to explore.
        folder: where their modules are found.
        entries: who is to explore them.
        progress: called with the name of what is explored, how many were, and how many there are.
    """
    entries = [entry for entry in entries if entry.quick or not plan.quick]
    progress("making environments", 0, None)
    folders, left_out = contestants.prepare(entries)
    entries = [entry for entry in entries if entry.name in folders]
    begun = time.monotonic()
    with contestants.started(entries, folders, folder) as processes:
        run = _Run(plan, processes, begun + plan.total_s)
        tasks = [
            _Task(entry, kernel, twin)
            for kernel in kernels[:: plan.every]
            for twin in (False, True)
            for entry in entries
        ]
        run.measure_chains()
        repetitions = run.repeat(tasks, progress)
    return Comparison(
        results=run.results,
        verdicts=goals.judge(explore_goals.GOALS, run.results),
        left_out=left_out | run.left_out(),
        false_passes=run.false_passes,
        false_alarms=run.false_alarms,
        repetitions=repetitions,
        seconds=time.monotonic() - begun,
    )


class _Task(NamedTuple):
    entry: Contestant
    kernel: Any
    twin: bool

    @property
    def name(self) -> str:
        return f"{self.entry.name}: {self.kernel.name}{TWIN if self.twin else ''}"

    @property
    def is_possible(self) -> bool:
        """Whether the kernel can be carried to the contestant."""
        return self.entry.loops or self.kernel.family != "asyncio_threads"


class _Run:
    def __init__(self, plan: Plan, processes: dict[str, Process], end: float) -> None:
        self.results = Results()
        self.false_passes: dict[str, list[str]] = {}
        self.false_alarms: dict[str, list[str]] = {}
        self.unable: dict[tuple[str, str], list[str]] = {}
        self._plan = plan
        self._processes = processes
        self._end = end

    def repeat(self, tasks: Sequence[_Task], progress: Progress) -> int:
        """Do all of it, as often as the time allows, and tell how often that was."""
        repetitions, longest = 0, 0.0
        while repetitions == 0 or time.monotonic() + longest < self._end:
            begun = time.monotonic()
            for number, task in enumerate(tasks):
                progress(task.name, number, len(tasks))
                if task.is_possible:
                    self._judge(task, self._ask(task, repetitions, len(tasks) - number))
            repetitions += 1
            longest = max(longest, time.monotonic() - begun)
        return repetitions

    def measure_chains(self) -> None:
        """Measure what a schedule costs, of programs that are nothing but steps."""
        for contestant, name, work, instrument in _CHAINS:
            if contestant in self._processes:
                module, _, function = f"{_EXPLORERS}.{name}".rpartition(".")
                answer = self._processes[contestant].ask(Question(module, function, instrument, _CHAIN_S, 0))
                if answer.schedules:
                    cost = answer.seconds / answer.schedules * 1e6
                    self.results.add(contestant, work, 0, {"schedule": cost})

    def left_out(self) -> dict[str, str]:
        """Say what could not be explored by whom, and why."""
        return {
            f"{contestant}: {', '.join(dict.fromkeys(names))}": reason
            for (contestant, reason), names in self.unable.items()
        }

    def _ask(self, task: _Task, seed: int, left: int) -> Answer:
        scenario = task.kernel.fixed if task.twin else task.kernel.scenario
        spare = (self._end - time.monotonic()) / left * _SPARED
        seconds = min(self._plan.twin_s, max(spare, _LEAST_S)) if task.twin else self._plan.fault_s
        question = Question(
            scenario.__module__, scenario.__name__, list(task.kernel.instrument), round(seconds, 3), seed
        )
        return self._processes[task.entry.name].ask(question)

    def _judge(self, task: _Task, answer: Answer) -> None:
        contestant, kernel = task.entry.name, task.kernel
        if answer.verdict == UNABLE:
            self.unable.setdefault((contestant, answer.message), []).append(kernel.name)
            return
        violated = answer.verdict == VIOLATED
        if task.twin:
            if violated:
                self.false_alarms.setdefault(contestant, []).append(kernel.name)
            values = {"false alarm": float(violated)}
            if answer.seconds > 0:
                values["speed"] = answer.schedules / answer.seconds
            self.results.add(contestant, kernel.name + TWIN, 0, values)
            return
        if violated and not _is_meant(kernel, answer):
            self.unable.setdefault((contestant, f"another failure: {answer.message}"), []).append(kernel.name)
            return
        passed = answer.verdict == HOLDS
        if passed:
            self.false_passes.setdefault(contestant, []).append(kernel.name)
        values = {"found": float(violated), "false pass": float(passed)}
        if violated:
            values |= {"schedules": float(answer.schedules), "first": answer.seconds * 1e3}
        self.results.add(contestant, kernel.name, 0, values)


def _is_meant(kernel: Any, answer: Answer) -> bool:
    """Tell whether a failure is the kernel's own; how a tool says that threads wait for ever is its own affair."""
    return kernel.kind != "exception" or kernel.message in answer.message
