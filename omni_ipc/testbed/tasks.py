"""Tasks, and the pooled greenlets that carry them."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any

from greenlet import getcurrent, greenlet

from omni_ipc.errors import UsageError
from omni_ipc.testbed.operations import Operation, always

if TYPE_CHECKING:
    from omni_ipc.testbed.kernel import Kernel


class RunEnded(BaseException):
    """Unwinds a task whose run has ended; code under test must let it pass, as it must let GeneratorExit pass."""


class Group:
    """Tasks that live and die together, as the threads of a process do.

    Attributes:
        bit: each step of its tasks reads it, if a fault may end them.
        tasks: all that there ever were.
        killed: whether they were ended all at once, and none was added since.
    """

    __slots__ = ("bit", "killed", "name", "tasks")

    def __init__(self, name: str, bit: int) -> None:
        self.name = name
        self.bit = bit
        self.tasks: list[Task] = []
        self.killed = False

    def add(self, task: Task) -> None:
        """Make a task one of them."""
        self.killed = False
        task.group = self
        self.tasks.append(task)


class Task:
    """A function that runs under the kernel.

    Attributes:
        index: position in the kernel's list of tasks; negative for the world outside of the run.
        key, made: identity of the task, and the number of objects that it has made: see `Identities`.
        pending: the operation that it has announced.
        ready: tells whether ``pending`` can go on.
        deadline: virtual time at which ``pending`` gives up.
        atomic: how many regions it is in; its operations are points only at zero.
        joined: whether somebody has waited for its end.
        refusals: how often it went on after it was told to end.
        daemon: the run may end without it.
        locals: attributes of thread-local objects, by the object's id.
        is_thread: whether it plays a thread, and is counted as one.
        thread: the thread object that stands for it, once there is one.
        group: the process that it plays a thread of, if it does.
        life: bit that each of its steps reads, because a fault may end it.
    """

    __slots__ = (
        "args",
        "atomic",
        "bit",
        "carrier",
        "daemon",
        "deadline",
        "ended",
        "fn",
        "group",
        "index",
        "is_thread",
        "joined",
        "key",
        "life",
        "locals",
        "made",
        "name",
        "pending",
        "ready",
        "refusals",
        "switch",
        "thread",
        "value",
    )

    def __init__(self, name: str, index: int, key: int, fn: Callable[..., object], args: tuple[object, ...]) -> None:
        self.name = name
        self.index = index
        self.key = key
        self.fn = fn
        self.args = args
        self.bit = 0
        self.made = 0
        self.pending: Operation | None = None
        self.ready: Callable[[], bool] = always
        self.deadline: float | None = None
        self.atomic = 0
        self.ended = False
        self.joined = False
        self.refusals = 0
        self.daemon = False
        self.locals: dict[int, tuple[object, dict[str, Any]]] = {}
        self.is_thread = True
        self.thread: Any = None
        self.group: Group | None = None
        self.life = 0
        self.value: object = None
        self.carrier: Carrier | None = None
        self.switch: Callable[[], object] = _not_started

    def frame(self) -> FrameType | None:
        """Return the innermost frame of the task, running or suspended."""
        if self.carrier is None:
            return None
        running = self.carrier.greenlet is getcurrent()
        frame: FrameType | None = sys._getframe(1) if running else self.carrier.greenlet.gr_frame
        return frame


def _not_started() -> None:
    raise AssertionError("a task was resumed before it was started")


class BodyNotRun(UsageError):
    """A function returned something whose body has yet to run."""


class Carrier:
    """A greenlet that runs one task after the other; making one costs twenty times as much as a switch."""

    __slots__ = ("greenlet", "kernel", "pool", "task")

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.greenlet: Any = greenlet(self._run_tasks, pool.home)
        self.kernel: Kernel | None = None
        self.task: Task | None = None

    def _run_tasks(self) -> None:
        while self.kernel is not None and self.task is not None:
            resume = _run_task(self.kernel, self.task)
            self.kernel = self.task = None
            self.pool.idle.append(self)
            resume()


def _run_task(kernel: Kernel, task: Task) -> Callable[[], object]:
    """Run a task to its end, and return what resumes the next one."""
    try:
        task.value = task.fn(*task.args)
        if task.value is not None:
            _require_run(task)
        kernel.come_to_end(task)
    except RunEnded:
        pass
    except BaseException as error:
        kernel.task_raised(task, error)
    return kernel.leave(task)


def _require_run(task: Task) -> None:
    """Refuse what only looks like a function that has run: its body has not."""
    if inspect.isawaitable(task.value) or inspect.isgenerator(task.value) or inspect.isasyncgen(task.value):
        kind = type(task.value).__name__
        if inspect.iscoroutine(task.value):
            task.value.close()
        raise BodyNotRun(
            f"Task '{task.name}' returned a {kind}: its body was never run, because its function is asynchronous, or "
            "yields. Give a plain function; run the body in it."
        )


class Pool:
    """Idle carriers, kept from run to run, for runs that start in the greenlet which made the pool."""

    __slots__ = ("home", "idle")

    def __init__(self) -> None:
        self.home: Any = getcurrent()
        self.idle: list[Carrier] = []

    def carry(self, kernel: Kernel, task: Task) -> None:
        """Give the task a carrier; the first ``task.switch()`` starts it."""
        carrier = self.idle.pop() if self.idle else Carrier(self)
        carrier.kernel = kernel
        carrier.task = task
        carrier.greenlet.gr_context = None  # as a new thread has: no context variable of an earlier task
        task.carrier = carrier
        task.switch = carrier.greenlet.switch

    def close(self) -> None:
        """End the idle carriers."""
        while self.idle:
            self.idle.pop().greenlet.switch()
