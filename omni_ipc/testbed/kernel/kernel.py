"""How a run goes on: operations are announced, somebody is chosen, and time passes when nobody can go on."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from omni_ipc.testbed.failures import describe_stuck, find_cycle, unrepeatable
from omni_ipc.testbed.kernel.ending import Ending
from omni_ipc.testbed.kernel.state import THE_END
from omni_ipc.testbed.operations import Operation, always, never, nothing
from omni_ipc.testbed.oracles.fairness import Recurrence, look_closer
from omni_ipc.testbed.tasks import Group, RunEnded, Task


class Kernel(Ending):
    """One run of a scenario."""

    __slots__ = ()

    # What objects call

    def perform(self, operation: Operation) -> Any:
        """Announce an operation of the current task, wait for its turn, and perform it.

        Points: before the operation; within a region only if it is not enabled.
        """
        task = self.current
        if task.atomic:
            self._announce_within(task, operation, operation.enabled)
        else:
            self._point(task, operation, operation.enabled)
        if operation.reads:
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
        if task.atomic:
            self._announce_within(task, operation, ready)
        else:
            self._point(task, operation, ready)
        task.deadline = None
        self.reads |= operation.reads if timeout <= 0 else operation.reads | self.time
        if operation.enabled():
            self.writes |= operation.writes
            return operation.execute()
        self.reads |= operation.writes
        return operation.expire()

    def launch(
        self, name: str, fn: Callable[..., object], args: tuple[object, ...], group: Group | None = None
    ) -> Task:
        """Create a task, in its parent's process or in another one, and run it up to its first point."""
        parent = self.current
        parent.made += 1
        index = len(self.tasks)
        key = parent.key, parent.made
        task = Task(name, index, hash(key), fn, args)  # the same in every process
        task.bit = self.identities[key]
        group = group or parent.group
        if group is not None:
            group.add(task)
        self.births[index] = self.depth - 1
        self.tasks.append(task)
        self.living.append(task)
        if self.identities.tells_ends:
            self.writes |= self.identities.census
        self.unjoined += 1
        if self.unjoined == 1 and self.accompanied is not None:
            self.accompanied(self)
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

    def is_gone(self, task: Task) -> bool:
        """Tell whether a task has ended, and nothing that it did can still happen."""
        return task.ended

    def come_to_end(self, task: Task) -> None:
        """Let a task live on behind the last step of its function, if somebody looks whether it lives.

        Points: then, before its end.
        """
        if self.identities.tells_ends:
            end = Operation("task.end", None, nothing)
            end.writes = task.bit
            self.perform(end)

    def leave(self, task: Task) -> Callable[[], object]:
        """Take leave of a task that has ended, and return what resumes the next one.

        Points: if the run ends with it, and daemon threads could go on.
        """
        if not self.over and self.cuts_off(task):
            with contextlib.suppress(RunEnded):
                self._point(task, Operation("task.exit", None, nothing), always)
                self.writes |= self.identities[THE_END]
        task.ended = True
        task.ready = never
        self.living.remove(task)
        self.writes |= task.bit
        if self.identities.tells_ends:
            self.writes |= self.identities.census
        try:
            if not self.over and self.is_needed():
                return self.next_task().switch
        except RunEnded:
            pass
        self.read_log.append(self.reads)
        self.write_log.append(self.writes)
        self.over = True
        self.current = self.outside
        return self.outside.switch

    # Decisions

    def _announce_within(self, task: Task, operation: Operation, ready: Callable[[], bool]) -> None:
        """Announce an operation that is a part of a step, if it need not wait."""
        if self.observer is not None and operation.subject is not None:
            self.observer.meet(operation.subject)
        if task.index < 0:
            self.look_from_outside(operation, ready)
        elif not ready():
            self.reads |= operation.reads | operation.writes
            self._point(task, operation, ready)

    def _point(self, task: Task, operation: Operation, ready: Callable[[], bool]) -> None:
        task.pending = operation
        task.ready = ready
        if ready is not always and not ready() and operation.exclusive and (cycle := find_cycle(task)):
            self.end(cycle)
        chosen = self.next_task()
        if chosen is not task:
            switch = chosen.switch
            switch()
            if self.resumed is not None:
                self.resumed(task)

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
            task = self.tasks[index] if index < len(self.tasks) else None
            if task is None or (task.ready is not always and not task.ready()):
                task = self._wait_for(index)
            chosen = task
        else:
            if depth >= self.limit:
                self._meet_limit()
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
        enabled = []
        for task in self.living:  # in no comprehension, which is a call more; nor are such attributes called at once
            ready = task.ready
            if ready is always or ready():
                enabled.append(task)
        if not enabled:
            self._pass_time()
            return self.enabled()
        return enabled

    def resume(self, task: Task) -> None:
        """Let a suspended run go on with a step of the given task."""
        self.order.append(task.index)
        self.depth += 1
        self.current = self.last = task
        task.switch()
        if self.resumed is not None:
            self.resumed(self.outside)

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

    # When nobody can go on, or the run goes on and on

    def _pass_time(self) -> None:
        self.jumps.append(self.depth)
        if self.tasks[0].ended and not self.is_needed():
            self.end()
        if not self.clock.advance(self.living, self.write_log, self.plumbing, self._comes_back):
            self.end(describe_stuck(self))

    def _comes_back(self) -> bool:
        """Tell whether the state of the run has been there before, with nothing but time passing since."""
        self.recurrence = self.recurrence or Recurrence()
        return self.recurrence.is_met(self)

    def _meet_limit(self) -> None:
        """Decide what becomes of a run that is over, or has become too long; it may go on for a while."""
        if self.over:
            self.refuse()
        if self.escape is not None:
            self.stop(self.escape)
        look_closer(self)
