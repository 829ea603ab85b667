"""Explores the schedules of a scenario, and says what that proves."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Sequence
from time import perf_counter

from omni_ipc.errors import Inconclusive, UnknownName, UsageError
from omni_ipc.records import Failure, MemoryOrder, Report, Trace, Verdict
from omni_ipc.testbed.explain.causes import find_causes
from omni_ipc.testbed.failures import shape, unrepeatable
from omni_ipc.testbed.faults.kernel import Fault
from omni_ipc.testbed.faults.names import Timers, with_timers
from omni_ipc.testbed.orders import signature
from omni_ipc.testbed.runner import Runner, Scenario
from omni_ipc.testbed.shrink import shrink_order
from omni_ipc.testbed.strategies import STRATEGIES
from omni_ipc.testbed.strategies.base import Run, Strategy
from omni_ipc.testbed.traces import trace_of

_PROGRESS_EVERY_S = 0.2
_RANDOM_RUNS = 2_000  # of a strategy that never ends by itself, unless the caller says how many


@dataclasses.dataclass(frozen=True, slots=True)
class Progress:
    """How far an exploration has come."""

    schedules: int
    steps: int
    seconds: float


def explore(
    scenario: Scenario,
    *,
    name: str | None = None,
    strategy: str = "depth-first",
    runs: int | None = None,
    seconds: float | None = None,
    seed: int = 0,
    transparent: Collection[str] = (),
    memory: str = MemoryOrder.SC,
    defect: str | None = None,
    max_steps: int = 10_000,
    declared: bool = False,
    faults: Sequence[Fault] = (),
    timers: str = Timers.VIRTUAL,
    instrument: Collection[str] = (),
    progress: Callable[[Progress], None] | None = None,
) -> Report:
    """Run a scenario under schedule after schedule, until one fails, none is left, or a budget is used up.

    "holds" means: every schedule was run, up to the order of steps that do not conflict, and none failed. Timeouts fire
    only when no task can go on, unless timers are explored, and nothing goes wrong but the faults that are given. Steps
    conflict on the runtime's objects and on watched ones. If tasks are found to share other state (see `sharing`),
    "depth-first" leaves nothing out, as "brute-force" does, and the report says so.

    Args:
        name: of the scenario in the report; by default that of the function.
        strategy: a key of `STRATEGIES`.
        runs: schedules to run at most, at least 1.
        seconds: real time to spend at most, over 0.
        seed: of a random strategy.
        transparent: regions that are no steps of their own; see `ControlledRuntime`.
        memory: a `MemoryOrder`: when other tasks see what one has stored in shared words.
        defect: name of the defect that the scenario was given, for the trace.
        max_steps: steps after which a schedule counts as a livelock.
        declared: vouch for it that what tasks share beside the runtime's objects and watched ones does not matter.
        faults: what may go wrong in a schedule, at any step; see `faults`.
        timers: a `Timers`: whether timeouts may fire while tasks can go on.
        instrument: names of modules and packages ("vendor.pump", "vendor.*") that get a point at each access to state
            that tasks share; so does the module of a scenario that takes no runtime.
        progress: called from time to time.

    Raises:
        UsageError: the scenario is no function of at most one argument, or a budget is not positive.
        UnknownName: there is no such strategy, or no such memory order.
    """
    _require_positive("runs", runs)
    _require_positive("seconds", seconds)
    _require_positive("max_steps", max_steps)
    if strategy not in STRATEGIES:
        raise UnknownName("strategy", strategy, STRATEGIES)
    if memory not in list(MemoryOrder):
        raise UnknownName("memory order", memory, list(MemoryOrder))
    order = MemoryOrder(memory)
    faults = with_timers(faults, timers)
    runner = Runner(
        scenario,
        transparent=transparent,
        max_steps=max_steps,
        memory=order,
        declared=declared,
        faults=faults,
        instrument=instrument,
    )
    search = _Search(
        runner=runner,
        scenario=name or str(getattr(scenario, "__name__", "scenario")),
        defect=defect,
        memory=order,
        faults=tuple(str(fault) for fault in faults),
        make_strategy=lambda: STRATEGIES[strategy](seed),
        strategy=STRATEGIES[strategy](seed),
        runs=runs if runs is not None or seconds is not None or strategy != "random" else _RANDOM_RUNS,
        seconds=seconds,
        progress=progress,
    )
    with runner:
        return search.report()


@dataclasses.dataclass(slots=True)
class _Search:
    """One exploration, as far as it has come."""

    runner: Runner
    scenario: str
    defect: str | None
    memory: MemoryOrder
    faults: tuple[str, ...]
    make_strategy: Callable[[], Strategy]
    strategy: Strategy
    runs: int | None
    seconds: float | None
    progress: Callable[[Progress], None] | None
    schedules: int = 0
    steps: int = 0
    whole: int = 0  # schedules that were not cut short
    signatures: set[int] = dataclasses.field(default_factory=set)
    outcomes: set[str] = dataclasses.field(default_factory=set)
    curtailed: set[str] = dataclasses.field(default_factory=set)  # bounds that left out continuations of runs
    began: float = dataclasses.field(default_factory=perf_counter)
    told: float = 0.0
    complete: bool = False  # the reduction was given up

    def report(self) -> Report:
        """Search, and say what was found."""
        try:
            while (prefix := self.strategy.next_prefix()) is not None:
                if self._is_spent():
                    return self._report(Verdict.BOUNDED, self._bound())
                run = self.runner.run(self.strategy, prefix)
                self._count(run)
                if run.failure is not None:
                    return self._explain(run, run.failure)
                if self.runner.instrumentation is not None and self.runner.instrumentation.refine():
                    self._begin_anew(self.make_strategy())
                elif self.strategy.distinct and self.runner.sharing:
                    self._leave_nothing_out()
                else:
                    self.strategy.learn(run)
        except Inconclusive as error:
            return self._report(Verdict.INCONCLUSIVE, str(error))
        if self.curtailed:
            return self._report(Verdict.BOUNDED, f"{self._claim()}; {'; '.join(sorted(self.curtailed))}")
        return self._report(Verdict.HOLDS, self._claim())

    def _leave_nothing_out(self) -> None:
        """Begin anew without the reduction, which would be blind to what tasks were found to share."""
        self.complete = True
        self._begin_anew(STRATEGIES["brute-force"](0))

    def _begin_anew(self, strategy: Strategy) -> None:
        """Forget what was run: it did not tell apart all that matters."""
        self.strategy = strategy
        self.schedules = self.steps = self.whole = 0
        self.outcomes.clear()
        self.curtailed.clear()

    def _is_spent(self) -> bool:
        if self.runs is not None and self.schedules >= self.runs:
            return True
        if self.seconds is None and self.progress is None:
            return False
        elapsed = perf_counter() - self.began
        if self.progress is not None and elapsed - self.told >= _PROGRESS_EVERY_S:
            self.told = elapsed
            self.progress(Progress(self.schedules, self.steps, elapsed))
        return self.seconds is not None and elapsed >= self.seconds and self.schedules > 0

    def _count(self, run: Run) -> None:
        self.schedules += 1
        self.steps += len(run.order)
        self.curtailed |= run.curtailed
        if run.pruned:
            return
        self.whole += 1
        if not self.strategy.distinct:
            self.signatures.add(signature(run))
        if run.failure is None:
            self.outcomes.add(repr(run.value))

    def _explain(self, run: Run, failure: Failure) -> Report:
        """Confirm a failure by running its schedule twice more, and shrink it."""
        first, second = self.runner.record(run.order), self.runner.record(run.order)
        if first.failure is None or first.failure != second.failure or shape(first.failure) != shape(failure):
            raise unrepeatable(
                f"a schedule failed ({failure}), and run again it came to {first.failure or 'a good end'}, "
                f"and then to {second.failure or 'a good end'}"
            )
        trace = self._trace(shrink_order(self.runner, run.order, failure))
        number = f"schedule {self.schedules:,} of {self.strategy.name}{self._under()}"
        return self._report(Verdict.VIOLATED, f"{number} failed: {trace.failure}", trace)

    def _trace(self, order: Sequence[int]) -> Trace:
        run = self.runner.record(order)
        return trace_of(
            run,
            self.scenario,
            defect=self.defect,
            memory=self.memory,
            faults=self.faults,
            strategy=self.strategy.name,
            schedule=self.schedules,
            causes=find_causes(self.runner, run),
        )

    def _report(self, verdict: Verdict, reason: str, trace: Trace | None = None) -> Report:
        return Report(
            scenario=self.scenario,
            verdict=verdict,
            reason=reason,
            strategy=self.strategy.name,
            schedules=self.schedules,
            steps=self.steps,
            traces=self.whole if self.strategy.distinct else len(self.signatures),
            seconds=perf_counter() - self.began,
            outcomes=tuple(sorted(self.outcomes)),
            failure=None if trace is None else trace.failure,
            trace=trace,
            memory=self.memory,
        )

    def _claim(self) -> str:
        if self.schedules == self.whole and not self.strategy.distinct:
            return f"all {self.schedules:,} schedules{self._under()}{self._sharing()}"
        cut = self.schedules - self.whole
        repeats = f" ({cut:,} repeats were cut short)" if cut else ""
        return f"all {self.whole:,} orders of conflicting steps{self._under()}{repeats}"

    def _bound(self) -> str:
        if self.strategy.exhaustive:
            limit = "runs" if self.runs is not None and self.schedules >= self.runs else "seconds"
            value = f"{self.runs:,}" if limit == "runs" else f"{self.seconds:g}"
            done = f"{self.schedules:,} schedules of {self.strategy.name}{self._under()}"
            return f"{done}, and more are left: {limit} was {value}{self._sharing()}"
        return f"{self.schedules:,} runs of a {self.strategy.name}{self._under()}"

    def _under(self) -> str:
        memory = f" under {self.memory.in_words}" if self.memory is not MemoryOrder.SC else ""
        return memory + (f" with {', '.join(self.faults)}" if self.faults else "")

    def _sharing(self) -> str:
        if not self.complete:
            return ""
        return f"; none was left out, because tasks share {self.runner.sharing}, which nobody watches"


def _require_positive(name: str, value: float | None) -> None:
    if value is not None and not value > 0:
        raise UsageError(f"{name} must be positive, and is {value}. Leave it out for no limit.")
