"""One exploration: runs schedule after schedule, until one fails, none is left, or what may be spent is spent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from omni_ipc.errors import Inconclusive
from omni_ipc.records import Failure, MemoryOrder, Report, Trace, Verdict
from omni_ipc.testbed.budget import Budget, Subject
from omni_ipc.testbed.confirming import confirmed, sharpened
from omni_ipc.testbed.explain.causes import find_causes
from omni_ipc.testbed.faults.vain import told_in_vain
from omni_ipc.testbed.oracles import tracing
from omni_ipc.testbed.oracles.leftovers import Leftovers
from omni_ipc.testbed.oracles.muting import Muted
from omni_ipc.testbed.repeating import Repetition
from omni_ipc.testbed.runner import Runner
from omni_ipc.testbed.strategies.base import Run, Strategy
from omni_ipc.testbed.strategies.estimate import told
from omni_ipc.testbed.tally import Progress, Tally
from omni_ipc.testbed.traces import trace_of

_PROGRESS_EVERY_S = 0.2
_ALONE = (
    "Only one task ran, so there was nothing to interleave, and nothing was concluded. Let the scenario start threads, "
    "or tasks of its runtime; what is sequential, call without exploring it."
)


class Search:
    """One exploration, as far as it has come.

    Args:
        make_strategy: makes a fresh one.
        progress: called from time to time.
        between: called before each run, and before the end; told whether what may be spent is spent.
    """

    def __init__(
        self,
        runner: Runner,
        subject: Subject,
        make_strategy: Callable[[], Strategy],
        budget: Budget,
        progress: Callable[[Progress], None] | None = None,
        between: Callable[[Search, bool], None] | None = None,
    ) -> None:
        self.runner = runner
        self.tally = Tally(runner.identities.name)
        self.strategy = make_strategy()
        self.strategy.allot(budget.runs, budget.seconds)
        self._subject = subject
        self._make_strategy = make_strategy
        self._budget = budget
        self._progress = progress
        self._between = between
        self._told = 0.0
        self._searched_s = 0.0
        self._is_complete = False  # the reduction was given up
        self._repetition = Repetition()
        self._leftovers = Leftovers()
        self._muted = Muted()

    def report(self) -> Report:
        """Search, and say what was found."""
        try:
            with self._muted:
                return self._search()
        except Inconclusive as error:
            return self._report(Verdict.INCONCLUSIVE, str(error))

    def _search(self) -> Report:
        while True:
            is_last = self._budget.is_spent(self.tally)
            if self._between is not None:
                self._between(self, is_last)
            left = self.strategy.left() if is_last else None
            if (prefix := self.strategy.next_prefix()) is None or is_last:
                if prefix is None and self._was_blind():
                    self._repetition.require_same(self.runner)
                    self._leave_nothing_out()
                    self._forget()
                    continue
                break
            run = self.runner.run(self.strategy, prefix)
            new = self.tally.add(run, self.strategy)
            if run.failure is not None:
                return self._explain(run, run.failure)
            if not self._begins_anew():
                self._repetition.take(run)
                self.strategy.learn(run)
                self.strategy.note(new)
            self._tell()
        self._repetition.require_same(self.runner)
        if self.tally.none_has_ended:
            raise Inconclusive(
                f"No schedule has come to an end: {'; '.join(sorted(self.tally.curtailed))}. "
                "Let loops wait for what they need, or raise max_steps if the scenario is only long."
            )
        if self.tally.most_tasks == 1 and self.tally.traces(self.strategy) == 1:
            raise Inconclusive(_ALONE)
        if prefix is not None or not self.strategy.exhausted:
            return self._report(Verdict.BOUNDED, self._bound(left))
        claim = self.strategy.summary() + self._subject.under() + self._sharing()
        if self.tally.curtailed:
            return self._report(Verdict.BOUNDED, f"{claim}; {'; '.join(sorted(self.tally.curtailed))}")
        if unseen := self.runner.unseen():
            raise Inconclusive(f"Not all that tasks did was seen: {'; '.join(unseen)}. Beside that, {claim} were run.")
        return self._report(Verdict.HOLDS, claim)

    def state(self) -> dict[str, Any]:
        """Return what `restore` needs to go on, in plain values, between two runs."""
        return {
            "tally": self.tally.state(),
            "strategy": self.strategy.state(),
            "complete": self._is_complete,
            "identities": list(self.runner.identities),
            "unseen": list(self.runner.unseen()),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a state, before the first run."""
        for key in state["identities"]:
            _ = self.runner.identities[key]
        self.runner.recall(state["unseen"])
        if state["complete"]:
            self._leave_nothing_out()
        self.strategy.restore(state["strategy"])
        self.tally.restore(state["tally"])

    def _leave_nothing_out(self) -> None:
        self._is_complete = True
        self.strategy = self.strategy.unreduced()
        self._allot()

    def _allot(self) -> None:
        seconds = self._budget.seconds
        left_s = None if seconds is None else max(seconds - self.tally.elapsed_s, 0.0)
        self.strategy.allot(self._budget.runs, left_s)

    def _begins_anew(self) -> bool:
        """Begin anew if the last run has shown that the strategy was blind to something, and tell whether it has."""
        before = self.strategy
        if self.runner.refine():
            self.strategy = self._make_strategy()
            self._allot()
        if self.strategy.reduces and self.runner.sharing:
            self._leave_nothing_out()
        if self.strategy is before:
            return False
        self._forget()
        return True

    def _was_blind(self) -> bool:
        """Tell whether sampling has met orders that the reduced search, at its end, has not: it missed a conflict.

        Where stores are seen late, there is no telling: the same order then counts by when they were seen.
        """
        searched, is_sc = self.strategy.searched, self._subject.memory is MemoryOrder.SC
        if searched is None or self.tally.curtailed or not is_sc:
            return False
        return self.tally.traces(self.strategy) > searched

    def _forget(self) -> None:
        self.tally.forget()
        self._repetition.forget()

    def _tell(self) -> None:
        if self._progress is None:
            return
        elapsed = self.tally.elapsed_s
        if elapsed - self._told >= _PROGRESS_EVERY_S:
            self._told = elapsed
            self._progress(self.progress())

    def progress(self) -> Progress:
        """Tell how far it has come."""
        tally, strategy = self.tally, self.strategy
        return Progress(
            schedules=tally.schedules,
            steps=tally.steps,
            seconds=tally.elapsed_s,
            traces=tally.traces(strategy),
            left=strategy.left(),
            doing=strategy.name,
        )

    def _explain(self, run: Run, failure: Failure) -> Report:
        """Confirm a failure by running its schedule twice more, and shrink it."""
        self._searched_s = self.tally.earlier_s + self.tally.elapsed_s
        order = confirmed(self.runner, run.order, failure)
        trace = sharpened(self.runner, order, self._trace)
        number = f"schedule {self.tally.schedules:,} of {self.strategy.name}{self._subject.under()}"
        return self._report(Verdict.VIOLATED, f"{number} failed: {trace.failure}", trace)

    def _notes(self) -> tuple[str, ...]:
        return self._muted.told() + self._leftovers.told() + tracing.told() + self.runner.left_out()

    def _in_vain(self) -> tuple[str, ...]:
        """Say which faults could not happen, if all that was run was run by this process."""
        is_whole = self.tally.schedules > 0 and not self.tally.earlier_s
        return tuple(told_in_vain(fault) for fault in self.runner.unmet() if is_whole)

    def _trace(self, order: Sequence[int]) -> Trace:
        run = self.runner.record(order)
        return trace_of(
            run,
            self._subject.scenario,
            defect=self._subject.defect,
            memory=self._subject.memory,
            faults=self._subject.faults,
            instrument=self.runner.instrument,
            points=self.runner.points(),
            strategy=self.strategy.name,
            schedule=self.tally.schedules,
            causes=find_causes(self.runner, run),
        )

    def _report(self, verdict: Verdict, reason: str, trace: Trace | None = None) -> Report:
        seconds = self.tally.earlier_s + self.tally.elapsed_s
        return Report(
            scenario=self._subject.scenario,
            verdict=verdict,
            reason=reason,
            strategy=self.strategy.name,
            schedules=self.tally.schedules,
            steps=self.tally.steps,
            traces=self.tally.traces(self.strategy),
            seconds=seconds,
            outcomes=tuple(sorted(self.tally.outcomes)),
            notes=self._notes() + (() if verdict is Verdict.VIOLATED else self._in_vain()),
            failure=None if trace is None else trace.failure,
            trace=trace,
            memory=self._subject.memory,
            searched_s=self._searched_s or seconds,
            begun_anew=self.tally.forgotten,
        )

    def _bound(self, left: float | None) -> str:
        met = self._budget.told(self.tally)
        about = f" ({told(left)})" if left is not None and left >= 1 else ""
        more = f", and more are left{about}: {met}" if met and left is not None else ""
        return f"{self.strategy.summary()}{self._subject.under()}{more}{self._sharing()}"

    def _sharing(self) -> str:
        if not self._is_complete:
            return ""
        shared = self.runner.sharing
        why = f"tasks share {shared}, which nobody watches" if shared else "not all that tasks share was seen"
        return f"; none was left out, because {why}"
