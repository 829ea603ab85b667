"""The kernel: one OS thread, tasks on greenlets, and at each point one decision about who goes on.

    task ── perform(operation) ──► point: announce it ──► next_task(): strategy chooses ──► switch ──► perform it
                                        ▲                        │ nobody can go on
                                        └── time passes ◄────────┘   (clock.py), or the run is stuck (failures.py)

A *step* is an announced operation and all that its task does up to its next point. The kernel knows no lock and no
queue: objects give it operations. While exploring it keeps integers only; texts are made when a failing schedule is run
again.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, Protocol

from greenlet import getcurrent

from omni_ipc.errors import Inconclusive, UsageError
from omni_ipc.records import Failure
from omni_ipc.testbed.clock import Clock
from omni_ipc.testbed.failures import (
    describe_error,
    describe_stubborn,
    describe_stuck,
    find_cycle,
    unrepeatable,
)
from omni_ipc.testbed.identity import Identities
from omni_ipc.testbed.operations import Operation, Subject, always, never, nothing
from omni_ipc.testbed.oracles.fairness import FIRST_LOOK, Recurrence, look_closer
from omni_ipc.testbed.tasks import BodyNotRun, Group, Pool, RunEnded, Task

_PATIENCE = 100  # how often a task that is told to end may go on before it is given up
THE_END = "the end"
"""Daemon threads go on until a scenario ends: each of their steps may come before the end, or not at all."""

_ABANDONED: list[object] = []  # carriers of tasks that were given up: to collect them would resume them


class Chooser(Protocol):
    """The part of a strategy that the kernel calls at each decision."""

    def choose(self, kernel: Kernel, enabled: list[Task]) -> Task | None:
        """Return one of the tasks that can go on, the kernel's ``outside`` to suspend the run, or None to end it."""


class Observer(Protocol):
    """Looks on while a failing schedule is run again."""

    def step(self, kernel: Kernel, chosen: Task) -> None:
        """Take note of a decision: the step before it is over, and the chosen task has not taken its own yet."""

    def meet(self, subject: Subject) -> None:
        """Take note of something that a step touches beside the subject of its operation."""

    def settle(self) -> None:
        """Take note of how things stand at the end, before any task is unwound; the first call counts."""


class Kernel:
    """One run of a scenario.

    Args:
        chooser: decides once ``prefix`` is used up.
        limit: steps after which the run counts as a livelock.
        prefix: indices of the tasks that take the first steps.

    Attributes:
        order: index of the task that took step k.
        reads, writes: bits of the objects that the step in progress has touched so far.
        read_log, write_log: the same of all steps: item 0 of main before its first point, item k + 1 of step k.
        living: tasks that have not ended, by index.
        unjoined: how many tasks but main there are, or were, whose end nobody has waited for.
        last: the task that took the last step.
        current: the task that runs now.
        time: bit of the clock, if timers may fire before their time.
        resumed: called with each task that goes on after another one; for what hides in the OS thread.
        starting: called with function and arguments of each thread that is started; for what threads share unseen.
        closers: called once all tasks have ended.
        births: by index of a task, the step in which it began; -1 is before the first one.
        jumps: numbers of steps that had been taken when time passed.
        refused: what was announced last when the run was ended: the task's index, what it reads and writes.
        agents: what takes steps beside the tasks, and is no part of the scenario; see `faults`.
        curtailed: what was left out of the run's continuations, and why: each a sentence's end.
    """

    __slots__ = (  # noqa: SIM905 - so many attributes would cost twice as much in a dictionary
        "__dict__ __weakref__ _busy agents births chooser clock closers current curtailed depth escape failure groups "
        "identities jumps known last limit living max_steps numbered observer order outside over plumbing pool pruned "
        "read_log reads recurrence refused resumed starter starting tasks time unjoined write_log writes"
    ).split()

    keeps: list[Any] | None = None  # objects that outlive runs, if it is not one of a run

    def __init__(
        self, chooser: Chooser, *, pool: Pool, identities: Identities, limit: int, prefix: Sequence[int] = ()
    ) -> None:
        self.chooser = chooser
        self.pool = pool
        self.identities = identities
        self.clock = Clock()
        self.max_steps = limit
        self.limit = min(limit, FIRST_LOOK)
        self.order = list(prefix)
        self.known = len(self.order)
        self.depth = 0
        self.reads = self.writes = 0
        self.read_log: list[int] = []
        self.write_log: list[int] = []
        self.time = 0
        self.births: dict[int, int] = {}
        self.jumps: list[int] = []
        self.refused: list[tuple[int, int, int]] = []
        self.agents: Sequence[Task] = ()
        self.curtailed: set[str] = set()
        self.recurrence: Recurrence | None = None
        self.groups: dict[str, Group] = {}
        self.plumbing = 0  # bits of locks and waiting lists: in them nothing is told to anybody
        self.numbered: dict[str, int] = {}  # names given so far, by template
        self.tasks: list[Task] = []
        self.living: list[Task] = []
        self.unjoined = -1
        self.outside = Task("outside", -1, 0, nothing, ())
        self.outside.atomic = 1
        self.outside.switch = getcurrent().switch
        self.current = self.last = self.outside
        self.starter: Task | None = None
        self.over = False
        self.pruned = False
        self.failure: Failure | None = None
        self.escape: BaseException | None = None
        self.observer: Observer | None = None
        self.resumed: Callable[[Task], object] | None = None
        self._busy: Callable[[], bool] | None = None
        self.starting: Callable[..., object] | None = None
        self.closers: list[Callable[[], object]] = []

    # What objects call

    def perform(self, operation: Operation) -> Any:
        """Announce an operation of the current task, wait for its turn, and perform it.

        Points: before the operation; within a region only if it is not enabled.
        """
        task = self.current
        if not task.atomic:
            self._point(task, operation, operation.enabled)
        else:
            if self.observer is not None:
                self._tell(operation)
            if not operation.enabled():
                self.reads |= operation.reads | operation.writes
                self._point(task, operation, operation.enabled)
        self.reads |= operation.reads
        self.writes |= operation.writes
        return operation.execute()

    def perform_within(self, operation: Operation, timeout: float | None) -> Any:
        """Perform an operation, or let it expire if it is not enabled within ``timeout`` virtual seconds.

        Args:
            timeout: None waits for ever; at most 0 does not wait at all.
        """
        if timeout is None:
            return self.perform(operation)
        task = self.current
        ready = always
        if timeout > 0:
            task.deadline = self.clock.now + timeout
            self.reads |= self.time
            ready = operation.enabled
        if not task.atomic:
            self._point(task, operation, ready)
        else:
            if self.observer is not None:
                self._tell(operation)
            if not ready():
                self.reads |= operation.reads | operation.writes
                self._point(task, operation, ready)
        task.deadline = None
        self.reads |= operation.reads if timeout <= 0 else operation.reads | self.time
        if operation.enabled():
            self.writes |= operation.writes
            return operation.execute()
        self.reads |= operation.writes
        return operation.expire()

    def now(self) -> float:
        """Read the clock."""
        self.reads |= self.time
        return self.clock.now

    def group(self, name: str) -> Group:
        """Return the tasks that live and die together under a name; there may be none yet."""
        if name not in self.groups:
            self.groups[name] = Group(name, self.identities["group", name])
        return self.groups[name]

    def announce(self, made: object) -> None:
        """Take note of a new object that faults may be about; here there are none."""

    def begun(self, task: Task) -> None:
        """Take note of a new task before its first step."""

    def _tell(self, operation: Operation) -> None:
        """Name what an operation within a region is about to whoever looks on."""
        if self.observer is not None and operation.subject is not None:
            self.observer.meet(operation.subject)

    def begin_region(self) -> bool:
        """Let what the current task does be one step, until it leaves the region."""
        self.current.atomic += 1
        return True

    def fence(self) -> None:
        """Let all see what the current task has stored, within its step; here they do already."""

    def identify(self) -> tuple[Task, int]:
        """Name an object that the current task makes: its maker, and its number among those that the maker made."""
        maker = self.current
        maker.made += 1
        return maker, maker.made

    def launch(
        self, name: str, fn: Callable[..., object], args: tuple[object, ...], group: Group | None = None
    ) -> Task:
        """Create a task, in its parent's process or in another one, and run it up to its first point."""
        parent, number = self.identify()
        task = Task(name, len(self.tasks), hash((parent.key, number)), fn, args)  # the same in every process
        task.bit = self.identities[parent.key, number]
        group = group or parent.group
        if group is not None:
            group.add(task)
        self.births[len(self.tasks)] = self.depth - 1
        self.tasks.append(task)
        self.living.append(task)
        self.unjoined += 1
        self.begun(task)
        self.pool.carry(self, task)
        if parent is not self.outside:
            self.starter = parent
        self.current = task
        if self.resumed is not None:
            self.resumed(task)
        task.switch()
        if self.resumed is not None:
            self.resumed(parent)
        return task

    def join(self, task: Task) -> None:
        """Take note that the current task has waited for the end of another one."""
        self.unjoined -= not task.joined
        task.joined = True

    # Decisions

    def _point(self, task: Task, operation: Operation, ready: Callable[[], bool]) -> None:
        task.pending = operation
        task.ready = ready
        if task.index < 0:
            self._look_from_outside(operation, ready)
            return
        if ready is not always and not ready() and operation.exclusive and (cycle := find_cycle(task)):
            self.end(cycle)
        chosen = self.next_task()
        if chosen is not task:
            chosen.switch()
            if self.resumed is not None:
                self.resumed(task)

    def _look_from_outside(self, operation: Operation, ready: Callable[[], bool]) -> None:
        """Let an operation pass that no task performs, after the end of the run, if it need not wait."""
        if self._is_kept():
            raise Inconclusive(
                f"'{operation.action}' of {operation.label()} belongs to an earlier run: a scenario must not keep "
                "what it made from run to run. Make it anew in each, or name the module that keeps it in "
                "instrument=[...]."
            )
        if not self.over or not ready():
            raise UsageError(f"'{operation.action}' would wait for {operation.blocked_on()}, but no task runs it.")

    def next_task(self) -> Task:
        """Close the step in progress, and choose whose step comes next."""
        if self.starter is not None:
            self.current = parent = self.starter
            self.starter = None
            return parent
        self.read_log.append(self.reads)
        self.write_log.append(self.writes)
        self.reads = self.writes = 0
        depth = self.depth
        if depth < self.known:
            index = self.order[depth]
            if index >= len(self.tasks) or not (chosen := self.tasks[index]).ready():
                chosen = self._wait_for(index)
        else:
            if depth >= self.limit:
                self._refuse()
            choice = self.chooser.choose(self, self.enabled())
            if choice is None:
                self.pruned = True
                self.end()
            chosen = choice
            if chosen is self.outside:
                self.current = chosen
                return chosen
            self.order.append(chosen.index)
        if self.observer is not None:
            self.observer.step(self, chosen)
        if chosen.daemon:
            self.reads |= self.identities[THE_END]  # it could have come too late
        self.depth = depth + 1
        self.current = self.last = chosen
        return chosen

    def enabled(self) -> list[Task]:
        """Return the tasks that can go on, by index; lets time pass until there is one."""
        enabled = [task for task in self.living if task.ready is always or task.ready()]
        while not enabled:
            self._pass_time()
            enabled = [task for task in self.living if task.ready is always or task.ready()]
        return enabled

    def resume(self, task: Task) -> None:
        """Let a suspended run go on with a step of the given task."""
        self.order.append(task.index)
        self.depth += 1
        self.current = self.last = task
        task.switch()
        if self.resumed is not None:
            self.resumed(self.outside)

    def _pass_time(self) -> None:
        self.jumps.append(self.depth)
        if self.tasks[0].ended and all(task.daemon for task in self.living):
            self.end()
        if not self.clock.advance(self.living, self.write_log, self.plumbing, self._comes_back):
            self.end(describe_stuck(self))

    def _comes_back(self) -> bool:
        """Tell whether the state of the run has been there before, with nothing but time passing since."""
        self.recurrence = self.recurrence or Recurrence()
        return self.recurrence.is_met(self)

    def _wait_for(self, index: int) -> Task:
        """Let time pass, as it did when the prefix was recorded, until its next task can go on."""
        task = self.tasks[index] if index < len(self.tasks) else None
        if task is not None and not task.ended:
            self.enabled()
        if task is None or not task.ready():
            who = "a task" if task is None else f"task '{task.name}'"
            self.stop(
                unrepeatable(f"{who} could take step {self.depth + 1} before, and cannot in the same schedule now")
            )
        return task

    # The end

    def waiting(self) -> list[tuple[int, int, int]]:
        """Return the operations that were announced and not performed: the task's index, what they read and write."""
        end = self.identities[THE_END] if any(task.daemon for task in self.living) else 0
        return self.refused + [
            (task.index, task.pending.reads | (end if task.daemon and task.ready() else 0), task.pending.writes)
            for task in self.living
            if task.pending is not None
        ]

    def leave(self, task: Task) -> Callable[[], object]:
        """Take leave of a task that has ended, and return what resumes the next one.

        Points: if the run ends with it, and daemon threads could go on.
        """
        if not self.over and self._cuts_off(task):
            with contextlib.suppress(RunEnded):
                self._point(task, Operation("task.exit", None, nothing), always)
                self.writes |= self.identities[THE_END]
        task.ended = True
        task.ready = never
        self.living.remove(task)
        self.writes |= task.bit
        try:
            if not self.over and not all(living.daemon for living in self.living):
                return self.next_task().switch
        except RunEnded:
            pass
        self.read_log.append(self.reads)
        self.write_log.append(self.writes)
        self.over = True
        self.current = self.outside
        return self.outside.switch

    def _cuts_off(self, task: Task) -> bool:
        """Tell whether the end of a task ends daemon threads that could go on."""
        others = [other for other in self.living if other is not task]
        return all(other.daemon for other in others) and any(other.ready() for other in others)

    def task_raised(self, task: Task, error: BaseException) -> None:
        """Note what a task raised; it ends the run, unless that is over, and only its cleaning up went wrong."""
        was_over, self.over = self.over, True
        is_misuse = isinstance(error, BodyNotRun) and task.index == 0  # elsewhere the code under test is to blame
        if is_misuse or isinstance(error, (KeyboardInterrupt, Inconclusive)):
            self.escape = self.escape or error
        elif self.failure is None and self.escape is None and not was_over:
            self.failure = describe_error(task, error)

    def end(self, failure: Failure | None = None) -> NoReturn:
        """End the run at once."""
        if (operation := self.current.pending) is not None and not self.current.ended:
            self.refused.append((self.current.index, operation.reads, operation.writes))
        if self.observer is not None:
            self.observer.settle()
        self.halt()
        self.failure = self.failure or failure
        raise RunEnded

    def stop(self, reason: BaseException) -> NoReturn:
        """End the run at once for a reason that lies outside of the scenario."""
        self.escape = self.escape or reason
        self.halt()
        raise RunEnded

    def interrupt(self, reason: BaseException) -> None:
        """End the run at its next point; may be called from a signal handler."""
        self.escape = self.escape or reason
        self.limit = self.known = -1

    def halt(self) -> None:
        """Let every task end at its next point."""
        self.over = True
        self.starter = None
        self.limit = self.known = -1

    def _refuse(self) -> None:
        """Answer a task at a point that it should not have reached: the run is over, or has become too long.

        Returns:
            If the run may go on for a while.
        """
        if not self.over:
            if self.escape is not None:
                self.stop(self.escape)
            look_closer(self)
            return
        task = self.current
        task.refusals += 1
        if task.refusals > _PATIENCE:
            self.escape = self.escape or describe_stubborn(task)
            _ABANDONED.append(task.carrier)
            self.living.remove(task)
            self.outside.switch()
        raise RunEnded

    def close(self) -> None:
        """End all tasks that have not ended."""
        self.halt()
        while self.living:
            task = self.current = self.living[-1]
            assert task.carrier is not None
            if self.resumed is not None:
                self.resumed(task)
            task.carrier.greenlet.throw(RunEnded)
        self.current = self.outside
        for closer in self.closers:
            closer()
        self.closers.clear()
        self.starting = None
        for task in self.tasks:  # in no circle with the kernel, they need not wait for the garbage collector
            task.pending = task.carrier = task.thread = None
            task.ready = always
            task.fn, task.args = nothing, ()

    def retire(self, busy: Callable[[], bool]) -> None:
        """Refuse what tasks of later runs ask of the objects of the run.

        Args:
            busy: tells whether one of them runs now.
        """
        self._busy = busy
        self.outside.atomic = 0

    def _is_kept(self) -> bool:
        """Tell whether an object of the run is used in a later one; a generator that is collected is no use."""
        return self._busy is not None and self._busy() and sys.exc_info()[0] is not GeneratorExit
