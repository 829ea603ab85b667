"""How a run ends: each task at its next point, or unwound where it stands."""

from __future__ import annotations

import signal
import sys
import traceback
from collections.abc import Callable
from typing import NoReturn

from omni_ipc.errors import Inconclusive, UsageError
from omni_ipc.records import Failure
from omni_ipc.testbed.failures import describe_error, describe_stubborn
from omni_ipc.testbed.kernel.state import RunState
from omni_ipc.testbed.operations import Operation, always, nothing
from omni_ipc.testbed.tasks import BodyNotRun, RunEnded, Task

_PATIENCE = 100  # how often a task that is told to end may go on before it is given up
_ABANDONED: list[object] = []  # carriers of tasks that were given up: to collect them would resume them


class Ending(RunState):
    """The end of one run, and what is left of it after that."""

    __slots__ = ()

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

    def task_raised(self, task: Task, error: BaseException) -> None:
        """Note what a task raised; it ends the run, unless that is over, and only its cleaning up went wrong."""
        was_over, self.over = self.over, True
        is_misuse = isinstance(error, BodyNotRun) and task.index == 0  # elsewhere the code under test is to blame
        if is_misuse or isinstance(error, Inconclusive) or _is_of_a_signal(error):
            self.escape = self.escape or error
        elif self.failure is None and self.escape is None and not was_over:
            self.failure = describe_error(task, error)

    def refuse(self) -> NoReturn:
        """Answer a task at a point that it should not have reached, because the run is over."""
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
        self.resumed = self.starting = self.using = self.library = self.running = None
        for task in self.tasks:  # in no circle with the kernel, they need not wait for the garbage collector
            task.pending = task.carrier = task.thread = None
            task.ready = always
            task.fn, task.args = nothing, ()

    # After the end

    def retire(self, busy: Callable[[], bool]) -> None:
        """Refuse what tasks of later runs ask of the objects of the run.

        Args:
            busy: tells whether one of them runs now.
        """
        self.retired = busy

    def look_from_outside(self, operation: Operation, ready: Callable[[], bool]) -> None:
        """Let an operation pass that no task performs, if it need not wait, and the run is not over for good."""
        if self.retired is None and ready():
            return
        if self._is_kept():
            raise Inconclusive(
                f"'{operation.action}' of {operation.label()} belongs to an earlier run: a scenario must not keep "
                "what it made from run to run. Make it anew in each, or name the module that keeps it in "
                "instrument=[...]."
            )
        if not self.over or not ready():
            raise UsageError(f"'{operation.action}' would wait for {operation.blocked_on()}, but no task runs it.")

    def _is_kept(self) -> bool:
        """Tell whether an object of the run is used in a later one; a generator that is collected is no use."""
        return self.retired is not None and self.retired() and sys.exc_info()[0] is not GeneratorExit


def _is_of_a_signal(error: BaseException) -> bool:
    """Tell Ctrl-C, which what answers a signal raises, from a task that raises the same by itself."""
    if not isinstance(error, KeyboardInterrupt):
        return False
    answers = [getattr(signal.getsignal(number), "__code__", None) for number in signal.valid_signals()]
    return any(frame.f_code in answers for frame, _ in traceback.walk_tb(error.__traceback__))
