"""Partial-order reduction by races: a run is followed by those that turn its races round, and by no others.

Two steps of different tasks race if they conflict, and nothing but the conflict orders them. Where the earlier one was
taken, some task must also be let go first that leads to the later one before it: a *source set* holds one for each such
continuation. Tasks whose steps have been explored sleep in the branches of their siblings, as in `depth_first`.

What blocks needs care, because who waits for a lock is ordered behind its release, and races with its *acquire*:

* An operation that may wait is tested against each conflicting step that does not happen before its task's previous
  step, from the last to the first, until one is found before which it could go on.
* Who could go on before a step and cannot after it races with that step, whatever both touch.
* What is still announced when a run ends races, too, and with the last step all that could go on instead of it.
* Time passes when nobody can go on, so that all before happens before all after.

Source: source sets and sleep sets after P. Abdulla, S. Aronis, B. Jonsson, K. Sagonas, "Optimal Dynamic Partial Order
Reduction", POPL 2014, algorithm 1; races with what blocks after C. Flanagan, P. Godefroid, "Dynamic Partial-Order
Reduction for Model Checking Software", POPL 2005.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from omni_ipc.testbed.failures import unrepeatable
from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.operations import always
from omni_ipc.testbed.strategies.base import Run, Strategy
from omni_ipc.testbed.strategies.default import default_choice
from omni_ipc.testbed.strategies.depth_first import DepthFirst, Slept, Steps, awake, orders, require_same, still_asleep
from omni_ipc.testbed.strategies.estimate import runs_left
from omni_ipc.testbed.strategies.happens_before import HappensBefore
from omni_ipc.testbed.tasks import Task


class SourceDpor(Strategy):
    """Explores one order of conflicting steps after the other.

    Sets of tasks are integers, in which bit i is the task of index i: tasks have the same index below a common prefix.
    """

    name = "dpor"
    reduces = True
    distinct = True
    _kept: tuple[str, ...] = ("_enabled", "_taken", "_todo", "_sleep", "_may_wait", "_last")

    def __init__(self) -> None:
        super().__init__()
        # For each step of the run at hand, the state before it:
        self._enabled: list[int] = []  # tasks that can go on there
        self._taken: list[int] = []  # tasks that have been let go there
        self._todo: list[int] = []  # tasks to let go there
        self._sleep: list[list[Slept]] = []
        self._may_wait: list[bool] = []  # whether who was let go might have had to wait
        self._order = HappensBefore()
        self._last: Steps | None = None
        self._shared = 0  # steps that the next run shares with the last one
        self._next = -1  # who is to take the step behind them

    @property
    def ended(self) -> bool:
        return self._last is not None and not self._todo

    def next_prefix(self) -> Sequence[int] | None:
        if self._last is None:
            return ()
        order, reads, writes = self._last
        depth = len(self._todo) - 1
        while depth >= 0 and not self._todo[depth]:
            depth -= 1
        for level in (self._enabled, self._taken, self._todo, self._sleep):
            del level[depth + 1 :]
        del self._may_wait[max(depth, 0) :]
        if depth < 0:
            return None
        todo = self._todo[depth]
        self._sleep[depth].append((order[depth], reads[depth + 1], writes[depth + 1]))
        chosen = todo & -todo
        self._todo[depth] ^= chosen
        self._taken[depth] |= chosen
        self._shared, self._next = depth, chosen.bit_length() - 1
        return order[:depth]

    def choose(self, kernel: Kernel, enabled: list[Task]) -> Task | None:
        if self._next >= 0:
            chosen = self._resume(enabled)
        else:
            mask = 0
            for task in enabled:
                mask |= 1 << task.index
            sleep = still_asleep(self._sleep[-1], kernel) if self._sleep and self._sleep[-1] else []
            if sleep and not (enabled := awake(enabled, sleep)):
                return None
            chosen = default_choice(kernel, enabled)
            self._enabled.append(mask)
            self._taken.append(1 << chosen.index)
            self._todo.append(0)
            self._sleep.append(sleep)
        self._may_wait.append(chosen.ready is not always or chosen.deadline is not None)
        return chosen

    def _resume(self, enabled: list[Task]) -> Task:
        """Return who is to take the first step that is not as in the run before."""
        for task in enabled:
            if task.index == self._next:
                self._next = -1
                return task
        raise unrepeatable(f"a task could take step {self._shared + 1} before, and cannot in the same schedule now")

    def learn(self, run: Run) -> None:
        """Find the races of a run that has ended.

        Raises:
            Inconclusive: its first steps were not what they were in the run before.
        """
        super().learn(run)
        shared = self._shared
        self._last = require_same(self._last, run, shared)
        self._order.forget(shared)
        for step in range(shared, len(run.order)):
            self._take(run, step)
        if run.pruned:
            return
        for task, reads, writes in run.waiting:
            conflicts = self._order.conflicts(reads, writes) & ~self._order.clock(run, task)
            if conflicts:
                self._race(run, len(run.order), task, conflicts, may_wait=True)

    def unreduced(self) -> Strategy:
        return DepthFirst(reduce=False)

    def left(self) -> float:
        nodes = zip(self._taken, self._todo, strict=True)
        return runs_left(self.runs, ((taken.bit_count(), (taken | todo).bit_count()) for taken, todo in nodes))

    def claim(self, runs: int, whole: int, *, ended: bool, cut: bool) -> str:
        return orders(runs, whole) if ended else super().claim(runs, whole, ended=ended, cut=cut)

    def state(self) -> dict[str, Any]:
        return super().state() | {"order": self._order.state()}

    def restore(self, state: Mapping[str, Any]) -> None:
        super().restore(state)
        self._order.restore(state["order"])

    def _take(self, run: Run, step: int) -> None:
        """Add a step, and let go first, somewhere before, what it shows to be in a race."""
        order = self._order
        task, reads, writes = run.order[step], run.reads[step + 1], run.writes[step + 1]
        clock = order.clock(run, task)
        conflicts = order.conflicts(reads, writes) & ~clock
        past = clock
        if conflicts:
            past |= self._race(run, step, task, conflicts, may_wait=self._may_wait[step])
        if run.jumps:
            past |= (1 << max((jump for jump in run.jumps if jump <= step), default=0)) - 1
        order.take(task, past, reads, writes)
        if self._enabled[step] & (self._enabled[step] - 1):
            self._let_go_what_it_stopped(run, step)

    def _let_go_what_it_stopped(self, run: Run, step: int) -> None:
        """Let those go instead of a step who cannot go on after it."""
        if step + 1 < len(run.order):
            able = self._enabled[step + 1]
        elif run.pruned:
            return
        else:
            able = 0
        if stopped := self._enabled[step] & ~able & ~self._taken[step]:
            self._let_go(run, step, stopped & ~self._considered(step))

    def _let_go(self, run: Run, step: int, tasks: int) -> None:
        """Note that tasks are to be let go instead of the one that took a step."""
        self._todo[step] |= tasks

    def _race(self, run: Run, step: int, task: int, conflicts: int, *, may_wait: bool) -> int:
        """Turn a step round with earlier ones that it races with.

        Args:
            conflicts: earlier steps that conflict with it, and do not happen before its task's previous step.

        Returns:
            All that happens before it because of a conflict.
        """
        past, left = 0, conflicts
        while left:
            earlier = left.bit_length() - 1
            before = self._order.past[earlier]
            past |= before
            could = self._turn_round(run, earlier, step, task, conflicts)
            left &= ~before if could or not may_wait else ~(1 << earlier)
        return past

    def _turn_round(self, run: Run, earlier: int, step: int, task: int, conflicts: int) -> bool:
        """See to it that a step is also explored before an earlier one, if it can be.

        Returns:
            Whether it surely can be.
        """
        enabled = self._enabled[earlier]
        others = enabled & ~(1 << run.order[earlier])
        if not others:
            return False
        order = self._order
        between = conflicts >> (earlier + 1)
        follows = any_independent(between, earlier, order.past)
        is_next = not order.taken.get(task, 0) >> (earlier + 1)
        waits = is_next and not enabled >> task & 1 and run.births.get(task, -1) < earlier
        if waits and not follows and not self._was_let(run, earlier, step, task):
            return False
        firsts = 0
        while others:
            bit = others & -others
            others ^= bit
            index = bit.bit_length() - 1
            if later := order.taken.get(index, 0) >> (earlier + 1):
                first = earlier + (later & -later).bit_length()
                if order.past[first] >> earlier == 1 << (first - earlier):
                    firsts |= bit
            elif index == task and not follows:
                firsts |= bit
        considered = self._considered(earlier)
        if not firsts:
            self._let_go(run, earlier, enabled & ~considered)
        elif not firsts & considered:
            own = 1 << task
            self._let_go(run, earlier, own if firsts & own else firsts & -firsts)
        return is_next and bool(firsts >> task & 1)

    def _was_let(self, run: Run, earlier: int, step: int, task: int) -> bool:
        """Tell whether a task that had to wait before an earlier step was let go by one that does not depend on it."""
        letting = next(
            (k for k in range(min(step, len(run.order)) - 1, earlier, -1) if not self._enabled[k] >> task & 1), earlier
        )
        if letting == earlier or letting + 1 in run.jumps:
            return False
        return not self._order.past[letting] >> earlier & 1

    def _considered(self, step: int) -> int:
        """Return the tasks that need not be let go before a step any more."""
        considered = self._taken[step] | self._todo[step]
        for index, _, _ in self._sleep[step]:
            considered |= 1 << index
        return considered


def any_independent(steps: int, earlier: int, past: list[int]) -> bool:
    """Tell whether any of the steps behind an earlier one, of which bit 0 is the next, does not depend on it."""
    while steps:
        bit = steps & -steps
        steps ^= bit
        if not past[earlier + bit.bit_length()] >> earlier & 1:
            return True
    return False
