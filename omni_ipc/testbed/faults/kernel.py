"""The kernel of a run in which something may go wrong, or timers may fire before their time.

    enabled() ──► tasks that can go on, and behind them the agents of what may happen now
    next_task() ─► an agent was chosen: it acts, in no greenlet of its own; then the next choice is due

So a fault is a choice like any other, and strategies, replay and shrinking need not know of it. So is the passing of
time: where nobody can go on, it may pass, or something may happen before it does. Faults are no duty: a run ends, or is
stuck, without those that did not happen. The default order takes the oldest task that can go on, then time, and never a
fault.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Protocol

from greenlet import getcurrent

from omni_ipc.records import Field
from omni_ipc.testbed.brief import in_full
from omni_ipc.testbed.faults.agent import Agent, Budget
from omni_ipc.testbed.kernel import Chooser, Kernel
from omni_ipc.testbed.operations import never
from omni_ipc.testbed.tasks import RunEnded, Task


class Fault(Protocol):
    """Something that may go wrong in a run; a value, written as on the command line by ``str()``."""

    def arm(self, kernel: FaultingKernel) -> None:
        """Let it be possible in a run that is about to begin."""


def written(kind: str, target: str, at_most: int) -> str:
    """Write a fault as on the command line: "late:queue1,2"."""
    return kind + (f":{target}" if target else "") + (f",{at_most}" if at_most != 1 else "")


class FaultingKernel(Kernel):
    """One run of a scenario with faults.

    Attributes:
        agents: of all that may happen, by age; the first one is time.
        early: how often time may pass while somebody can go on.
        on_launch: called with each new task before its first step.
        on_made: called with each new object that announces itself.
        hooks: names of the faults that code may ask for.
        met: faults that had something to strike, as ``str()`` writes them.
    """

    def __init__(self, chooser: Chooser, *, faults: Sequence[Fault] = (), **options: Any) -> None:
        super().__init__(chooser, **options)
        self.agents: list[Agent] = []
        self.time = self.identities["time"]
        self.plumbing |= self.time
        self.early = 0
        self.on_launch: list[Callable[[Task], object]] = []
        self.on_made: list[Callable[[Any], object]] = []
        self.hooks: set[str] = set()
        self.met: set[str] = set()
        self._early_limit = ""
        self._killed: list[Task] = []
        for fault in faults:
            fault.arm(self)

    # What faults call

    def let_time_pass_early(self, times: int) -> None:
        """Let time pass also while somebody can go on."""
        self.early = times
        self._early_limit = f"time passed early {times} times in a run at most"

    def budget(self, key: Hashable, times: int) -> Budget:
        """Make the budget of a fault: how often it may happen in this run."""
        return Budget(times, self.identities["budget", key])

    def add_fault(
        self,
        name: str,
        *,
        action: str,
        possible: Callable[[], bool],
        act: Callable[[], object],
        budget: Budget,
        fields: Mapping[str, Field] | None = None,
        key: Hashable = None,
    ) -> Agent:
        """Add something that may happen, as often as a budget allows; see `Agent`.

        Args:
            key: tells it from others with its name; the same in every schedule.
        """

        def spend() -> None:
            budget.left -= 1
            self.writes |= budget.bit
            act()

        return self._add(name, action, lambda: budget.left > 0 and possible(), spend, fields, key)

    def add_fault_of_each_task(
        self, verb: str, *, possible: Callable[[Task], bool], act: Callable[[Task], object], budget: Budget
    ) -> None:
        """Add something that may happen to each task that is started, as often as a budget for all of them allows."""

        def add(task: Task) -> None:
            self.add_fault(
                f"{verb}({task.name})",
                action=f"fault.{verb}({task.name})",
                possible=lambda: possible(task),
                act=lambda: act(task),
                budget=budget,
                key=task.key,
            )

        self.on_launch.append(add)

    def launch_beside(self, name: str, fn: Callable[[], object], key: Hashable) -> None:
        """Start, out of an agent's step, a task that is no child of any other."""
        maker = Task(name, -1, self.identities["beside", name, key], bool, ())
        maker.switch = getcurrent().switch
        self.current = maker
        self.launch(name, fn, ()).is_thread = False

    def kill(self, task: Task) -> None:
        """Let nothing more of a task happen; its frames stay as they are until the run is over."""
        self.living.remove(task)
        self._killed.append(task)
        if task.deadline is not None:
            self.reads |= self.time
        task.ended = True
        task.deadline = None
        task.ready = never
        self.writes |= task.bit

    # What the kernel does differently

    def announce(self, made: Any) -> None:
        for told in self.on_made:
            told(made)

    def begun(self, task: Task) -> None:
        if not self.agents:
            self._add("time", "time.passes", self._may_pass, self._let_pass, None, None)
        for told in self.on_launch:
            told(task)
        self.reads |= task.life

    def enabled(self) -> list[Task]:
        enabled = [task for task in self.living if task.ready()]
        enabled += [agent for agent in self.agents if agent.ready()]
        return enabled

    def next_task(self) -> Task:
        caller, last = self.current, self.last
        while isinstance(chosen := super().next_task(), Agent):
            self.current, self.last = caller, last
            chosen.act()
            self.current = caller
            if not self.is_needed():
                return self._finish()
        self.reads |= chosen.life
        return chosen

    def leave(self, task: Task) -> Callable[[], object]:
        if task in self._killed:  # the run has ended in the step after its death, which was chosen in its frames
            self._killed.remove(task)
            self.living.append(task)
        return super().leave(task)

    def close(self) -> None:
        if self._killed:
            # What their frames still do when they are unwound is no part of the run, nor of its outcome.
            self.tasks[0].value = _AsItWas(in_full(self.tasks[0].value))
            self.living += self._killed
            self._killed = []
        super().close()

    def _add(
        self,
        name: str,
        action: str,
        possible: Callable[[], bool],
        act: Callable[[], object],
        fields: Mapping[str, Field] | None,
        key: Hashable,
    ) -> Agent:
        number = self.identities["agent", name, key]
        agent = Agent(name, len(self.tasks), number, action=action, possible=possible, act=act, fields=fields)
        self.tasks.append(agent)
        self.agents.append(agent)
        return agent

    def _finish(self) -> Task:
        """End the run in good order: nobody is left alive who must end."""
        self.read_log.append(self.reads)
        self.write_log.append(self.writes)
        self.over = True
        self.current = self.outside
        return self.outside

    # Time

    def _pass_time(self) -> None:
        try:
            super()._pass_time()
            self.jumps.pop()  # it is a step of its own, and no barrier
        except RunEnded:
            self.writes = (1 << len(self.identities)) - 1  # who is stuck, and for what, depends on every step before
            raise

    def _stands_still(self) -> bool:
        return not any(task.ready() for task in self.living)

    def _may_pass(self) -> bool:
        if self._stands_still():
            return True
        if not self.clock.is_awaited(self.living):
            return False
        if not self.early and self._early_limit:
            self.curtailed.add(self._early_limit)
        return self.early > 0

    def _let_pass(self) -> None:
        self.writes |= self.time
        if self._stands_still():
            self._pass_time()
        else:
            self.early -= 1
            self.clock.fire(self.living)


class _AsItWas:
    """What a scenario returned, in words."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text
