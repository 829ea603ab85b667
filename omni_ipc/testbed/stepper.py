"""Drives one run from outside, a step at a time: how the steps of a model's counterexample are taken in the code."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from types import TracebackType
from typing import Any, NoReturn

import msgspec

from omni_ipc.errors import OmniError, UnknownName, UsageError
from omni_ipc.records import Failure, Field, MemoryOrder
from omni_ipc.testbed.buffering import Drain
from omni_ipc.testbed.faults.agent import Agent
from omni_ipc.testbed.faults.kernel import Fault
from omni_ipc.testbed.kernel import Chooser, Kernel
from omni_ipc.testbed.runner import Runner, Scenario
from omni_ipc.testbed.strategies.default import DefaultOrder
from omni_ipc.testbed.tasks import RunEnded, Task
from omni_ipc.testbed.where import locate


class Offer(msgspec.Struct, frozen=True):
    """The next step of a living task; or a fault that may happen now, whose task is its agent: "kill(worker)".

    Args:
        number: of the task in its run; drains of one task, each for a place of its own, have one name.
        blocked_on: what it waits for, if it is not enabled.
        where: "outputs.py:88 in deliver".
    """

    task: str
    number: int
    action: str
    fields: dict[str, Field]
    enabled: bool
    blocked_on: str | None
    where: str | None


class Refused(OmniError):
    """A task was to take a step that it cannot take now; the run goes on as if it had not been asked."""


class ScheduleFailed(OmniError):
    """The run has failed; see ``failure``."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(str(failure))
        self.failure = failure


class Stepping:
    """What many runs of one scenario have in common: with it a run begins in a fraction of the time.

    Use it as a context manager, and make a `Stepper` for each run. A task ends with its last step, whoever asks whether
    it lives: explorations make its end a step of its own.

    Args:
        transparent: regions that are no steps of their own; see `ControlledRuntime`.
        memory: the memory order; where it is weaker than `MemoryOrder.TSO`, several that store share a task's name.
        faults: what may go wrong, as steps of agents beside the tasks'; without any, time passes by itself where
            nobody can go on, and with some it is an agent, too: "time".
        declared: the scenario declares all that its tasks share, so that it need not be looked for.
    """

    def __init__(
        self,
        scenario: Scenario,
        *,
        transparent: Collection[str] = (),
        memory: MemoryOrder = MemoryOrder.SC,
        faults: Sequence[Fault] = (),
        max_steps: int = 10_000,
        declared: bool = False,
    ) -> None:
        self.runner = Runner(
            scenario,
            transparent=transparent,
            memory=memory,
            faults=faults,
            max_steps=max_steps,
            declared=declared,
        )

    def __enter__(self) -> Stepping:
        self.runner.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.runner.__exit__(kind, error, trace)

    def begin(self, memory: MemoryOrder | None = None) -> Stepper:
        """Make a run, to be used as a context manager; the one before must have been left.

        Args:
            memory: of this run, if it is not that of all.
        """
        return Stepper(self, memory=memory)


class Stepper:
    """One run of a scenario, which stands still until it is told who takes the next step.

    Use it as a context manager, and in one thread. Between steps the world may be looked at; operations of controlled
    objects from there are no steps, and never wait.

    Args:
        scenario: or what it has in common with other runs; then there are no options.
        memory: of this run, if it is not that of all.
        options: of `Stepping`.

    Attributes:
        runtime: of the run.
        failure: why the run has ended, if it failed.
    """

    def __init__(self, scenario: Scenario | Stepping, *, memory: MemoryOrder | None = None, **options: Any) -> None:
        common = scenario if isinstance(scenario, Stepping) else Stepping(scenario, **options)
        self._own = None if common is scenario else common
        self._runner = common.runner
        self._chooser = _Suspending()
        self._kernel, self.runtime = self._runner.begin(self._chooser, memory=memory)

    def __enter__(self) -> Stepper:
        if self._own is not None:
            self._own.__enter__()
        try:
            self._runner.start(self._kernel, self.runtime)
            self._settle()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._kernel.close()
            self.runtime.close()
        finally:
            if self._own is not None:
                self._own.__exit__(kind, error, trace)

    @property
    def failure(self) -> Failure | None:
        return self._kernel.failure

    def offers(self) -> tuple[Offer, ...]:
        """Return the next step of each living task, by age, then the faults; none once the run is over."""
        if self._kernel.over:
            return ()
        enabled = self._chooser.enabled
        return tuple(
            [_offer(task, task in enabled) for task in self._kernel.living]
            + [_offer(task, True) for task in enabled if isinstance(task, Agent)]
        )

    def enabled(self) -> list[Offer]:
        """Return the steps that can be taken now, without their places: those of `offers` at a fraction of the cost."""
        if self._kernel.over:
            return []
        return [
            Offer(task.name, task.index, task.pending.action, task.pending.fields(), True, None, None)
            for task in self._chooser.enabled
            if task.pending is not None
        ]

    def take(self, task: str, number: int | None = None) -> None:
        """Let a task perform its pending operation, and go on to its next point; or let a fault happen.

        Args:
            number: of the task, where several have that name.

        Raises:
            Refused: it cannot go on now, or the run is over; the message says what it waits for.
            UnknownName: no living task has that name.
            Inconclusive: something was not under control.
        """
        if self._kernel.over:
            how = f"failed: {self.failure}" if self.failure else "ended"
            raise Refused(f"'{task}' cannot take a step: the run has {how}.")
        named = (enabled for enabled in self._chooser.enabled if enabled.name == task)
        chosen = next((enabled for enabled in named if number in (None, enabled.index)), None)
        if chosen is None:
            self._refuse(task)
        self._take(chosen)
        self._settle()

    def finish(self) -> object:
        """Run the rest in the default order, and return what the scenario returned.

        Raises:
            ScheduleFailed: the run failed, now or before.
            Inconclusive: something was not under control.
        """
        self._chooser.then = order = DefaultOrder()
        while not self._kernel.over:
            self._take(order.choose(self._kernel, self._chooser.enabled))  # of agents only time: faults are no duty
        self._settle()
        if self.failure is not None:
            raise ScheduleFailed(self.failure)
        return self._kernel.tasks[0].value

    def _refuse(self, task: str) -> NoReturn:
        living = {living.name: living for living in self._kernel.living}
        if task not in living:
            raise UnknownName("living task", task, living)
        offer = _offer(living[task], False)
        raise Refused(f"'{task}' cannot take {offer.action}: it waits for {offer.blocked_on} ({offer.where}).")

    def _take(self, task: Task) -> None:
        if isinstance(task, Agent | Drain):
            self._act(task)
        else:
            self._kernel.resume(task)

    def _act(self, agent: Agent | Drain) -> None:
        """Let a fault happen, or a store arrive; no task comes to a point, so what can be taken is asked for."""
        kernel = self._kernel
        kernel.order.append(agent.index)
        kernel.depth += 1
        try:
            agent.act()
            kernel.current = kernel.outside
            kernel.over = kernel.over or not kernel.is_needed()
            self._chooser.enabled = [] if kernel.over else kernel.enabled()
        except RunEnded:  # time found that nobody will ever go on
            kernel.current = kernel.outside

    def _settle(self) -> None:
        """Clean up if the run is over."""
        if not self._kernel.over:
            return
        self._kernel.close()
        if self._kernel.escape is not None:
            raise self._kernel.escape


class _Suspending:
    """Suspends the run at each decision, until there is somebody to leave them to."""

    def __init__(self) -> None:
        self.enabled: list[Task] = []
        self.then: Chooser | None = None

    def choose(self, kernel: Kernel, enabled: list[Task]) -> Task | None:
        self.enabled = enabled
        return kernel.outside if self.then is None else self.then.choose(kernel, enabled)


def _offer(task: Task, enabled: bool) -> Offer:
    operation = task.pending
    if operation is None:
        raise UsageError("Offers are to be had between steps, and not from inside the scenario.")
    blocked_on = None if enabled else operation.blocked_on()
    return Offer(task.name, task.index, operation.action, operation.fields(), enabled, blocked_on, locate(task.frame()))
