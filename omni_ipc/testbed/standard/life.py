"""The life of a thread object: it begins as a task of the run instead of a thread of the process."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any

from omni_ipc.records import Field
from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.operations import Operation, Owning, always, nothing, unlimited
from omni_ipc.testbed.standard.world import WORLD
from omni_ipc.testbed.tasks import RunEnded, Task


class Life:
    """What becomes of a thread object in a run.

    Attributes:
        task: that runs it, once it was started.
    """

    def __init__(self, kernel: Kernel, thread: threading.Thread) -> None:
        self._thread = weakref.ref(thread)  # which has its life, and need not wait for the garbage collector
        self.task: Task | None = None
        self._belong(kernel)
        if kernel.keeps is not None:
            kernel.keeps.append(self)
            self._kept = thread

    def adopt(self, kernel: Kernel) -> None:
        """Belong to a run, as something new."""
        self._belong(kernel)
        self.thread.__dict__.update(_ident=None, _is_stopped=False)

    def _belong(self, kernel: Kernel) -> None:
        self.kernel = kernel
        maker, number = kernel.identify()
        self.identity = maker.key, number
        self.bit = kernel.identities[self.identity]

    @property
    def thread(self) -> threading.Thread:
        """The thread object, while somebody has it."""
        thread = self._thread()
        assert thread is not None, "the thread object of a life in use is in use"
        return thread

    @classmethod
    def of(cls, task: Task, kernel: Kernel, thread: threading.Thread) -> Life:
        """Return the life of a thread object that was made up for a task."""
        life = cls.__new__(cls)
        life.kernel, life._thread, life.task, life.bit = kernel, weakref.ref(thread), task, task.bit
        life.identity = task.key, 0
        return life

    def is_set(self) -> bool:
        """Tell whether it was started; without a point, as its class asks before all that it does."""
        return self.task is not None

    def require_started(self) -> Task:
        """Return its task, without a point; it must have been started by now."""
        if self.task is None:
            raise RuntimeError("cannot join thread before it is started")
        return self.task

    def has_ended(self) -> bool:
        return self.task is not None and self.task.ended

    def label(self) -> dict[str, Field]:
        return {"thread": self.thread.name if self.task is None else self.task.name}

    def shown(self) -> str:
        return "not started" if self.task is None else "ended" if self.task.ended else "alive"

    def blocked_on(self) -> str:
        return f"the end of '{self.thread.name if self.task is None else self.task.name}'"

    def holder(self) -> Task | None:
        return self.task


class Starting(Operation):
    """The start of a thread."""

    __slots__ = ()

    subject: Life
    action = "thread.start"
    enabled = staticmethod(always)  # in the class, as below, because threads are started and joined in each run
    expire = staticmethod(unlimited)
    extra = None
    reads = 0

    def __init__(self, life: Life) -> None:
        self.subject = life
        self.writes = life.bit

    def execute(self) -> None:
        launch(self.subject.kernel, self.subject)


class Joining(Owning):
    """A wait for the end of a thread."""

    __slots__ = ("_task",)

    subject: Life
    action = "thread.join"
    expire = staticmethod(nothing)
    extra = None
    reads = 0

    def __init__(self, life: Life, task: Task) -> None:
        self.subject = life
        self.writes = life.bit | task.bit
        self._task = task

    def enabled(self) -> bool:
        return self._task.ended

    def execute(self) -> None:
        self.subject.kernel.join(self._task)


def identify(task: Task) -> int:
    """Return the identifier of a thread: the same in each run."""
    return task.index + 1


def spawn(kernel: Kernel, target: Callable[[], object], name: str) -> threading.Thread:
    """Start a thread within the step in progress."""
    thread = threading.Thread(target=target, name=name, daemon=False)
    life = Life(kernel, thread)
    thread._started = life  # type: ignore[attr-defined]
    launch(kernel, life)
    return thread


def launch(kernel: Kernel, life: Life) -> None:
    """Start the task of a thread, in a step of the parent; it runs up to its own first point."""
    if life.task is not None:
        raise RuntimeError("threads can only be started once")
    thread = life.thread
    if kernel.starting is not None:
        kernel.starting(*_given(thread))
    kernel.launch(_unused(kernel, thread.name), _run, (life, thread))


def _given(thread: Any) -> tuple[Any, ...]:
    """Return what a thread was given to run, and with what."""
    if type(thread).run is not threading.Thread.run or thread._target is None:
        return (thread.run,)
    return (thread._target, *thread._args, *thread._kwargs.values())


def _unused(kernel: Kernel, name: str) -> str:
    """Return a name that no other task of the run has."""
    for task in kernel.tasks:
        if task.name == name:
            break
    else:
        return name
    taken = {task.name for task in kernel.tasks}
    return next(f"{name}#{number}" for number in range(2, len(taken) + 2) if f"{name}#{number}" not in taken)


def _run(life: Life, thread: Any) -> None:
    """Be the body of a task that plays a thread."""
    task = life.task = life.kernel.current
    task.bit |= life.bit
    task.thread, task.daemon = thread, thread.daemon
    thread._ident = thread._native_id = identify(task)
    try:
        thread.run()
    except RunEnded:
        raise
    except BaseException as error:
        if life.kernel.over:
            raise
        if threading.excepthook is WORLD.hook:
            if isinstance(error, SystemExit):
                return
            raise
        threading.excepthook(threading.ExceptHookArgs((type(error), error, error.__traceback__, thread)))
    finally:
        thread._is_stopped = True
