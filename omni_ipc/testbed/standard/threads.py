"""``threading.Thread`` under control, and who the current thread is.

A thread object stays what it is, whatever class of the user's it has; only its life is another: it begins as a task of
the run instead of a thread of the process.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable
from typing import Any

from omni_ipc.errors import Inconclusive
from omni_ipc.records import Field
from omni_ipc.testbed.identity import COUNTED_THREADS
from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.operations import Operation, Owning, Reading
from omni_ipc.testbed.standard.world import WORLD, asks, running
from omni_ipc.testbed.tasks import RunEnded, Task
from omni_ipc.testbed.where import locate

Method = Callable[..., Any]


class Life:
    """What becomes of a thread object in a run.

    Attributes:
        task: that runs it, once it was started.
    """

    def __init__(self, kernel: Kernel, thread: threading.Thread) -> None:
        self.thread = thread
        self.task: Task | None = None
        self.adopt(kernel)
        if kernel.keeps is not None:
            kernel.keeps.append(self)

    def adopt(self, kernel: Kernel) -> None:
        """Belong to a run, as something new."""
        self.kernel = kernel
        maker, number = kernel.identify()
        self.identity = maker.key, number
        self.bit = kernel.identities[self.identity]
        self.thread.__dict__.update(_ident=None, _is_stopped=False)

    def is_set(self) -> bool:
        """Tell whether it was started; without a point, as its class asks before all that it does."""
        return self.task is not None

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


def _life(thread: threading.Thread) -> Life | None:
    """Return the life of a thread that was made under control; None if nobody asks who is under control.

    Raises:
        Inconclusive: a task uses a thread that was made before its run.
    """
    life = thread.__dict__.get("_started")
    if isinstance(life, Life):
        return life
    kernel = running()
    if kernel is not None and life is not None and asks(sys._getframe(2)):
        kernel.stop(
            Inconclusive(
                f"Task '{kernel.current.name}' used thread '{thread.name}', which was made before the run, at "
                f"{locate(sys._getframe(2))}: it is not under control. Make it in the scenario."
            )
        )
    return None


def initialize(original: Method) -> Method:
    """Replace ``Thread.__init__``."""

    @functools.wraps(original)
    def __init__(self: threading.Thread, *args: Any, **options: Any) -> None:  # noqa: N807
        kernel = WORLD.maker()
        if kernel is None or not asks(sys._getframe(1)):
            return original(self, *args, **options)  # type: ignore[no-any-return]
        event = threading.Event
        threading.Event = functools.partial(Life, kernel, self)  # type: ignore[misc,assignment]  # its life, not an event
        try:
            original(self, *args, **options)
        finally:
            threading.Event = event  # type: ignore[misc]
        return None

    return __init__


def start(original: Method) -> Method:
    """Replace ``Thread.start``."""

    def start(self: threading.Thread) -> None:
        life = _life(self)
        if life is None:
            return original(self)  # type: ignore[no-any-return]
        kernel = life.kernel
        kernel.perform(Operation("thread.start", life, lambda: _launch(kernel, life)))
        return None

    return start


def spawn(kernel: Kernel, target: Callable[[], object], name: str) -> threading.Thread:
    """Start a thread within the step in progress."""
    thread = threading.Thread(target=target, name=name, daemon=False)
    life = Life(kernel, thread)
    thread._started = life  # type: ignore[attr-defined]
    _launch(kernel, life)
    return thread


def start_new(kernel: Kernel, function: Any, args: Any, options: Any = None, /) -> int:
    """Start a thread as `_thread` does: nobody can wait for it."""
    if not callable(function) or not isinstance(args, tuple) or not isinstance(options or {}, dict):
        raise TypeError("a function, a tuple and a dictionary are needed")
    thread = threading.Thread(target=function, args=args, kwargs=options or {}, daemon=True)
    life = Life(kernel, thread)
    thread._started = life  # type: ignore[attr-defined]
    kernel.perform(Operation("thread.start", life, lambda: _launch(kernel, life)))
    return life.kernel.tasks[-1].index + 1


def _launch(kernel: Kernel, life: Life) -> None:
    """Start the task of a thread, in a step of the parent; it runs up to its own first point."""
    if life.task is not None:
        raise RuntimeError("threads can only be started once")
    thread = life.thread
    if kernel.starting is not None:
        kernel.starting(*_given(thread))
    kernel.writes |= _census(kernel)
    kernel.launch(_unused(kernel, thread.name), _run, (life,))


def _given(thread: Any) -> tuple[Any, ...]:
    """Return what a thread was given to run, and with what."""
    if type(thread).run is not threading.Thread.run or thread._target is None:
        return (thread.run,)
    return (thread._target, *thread._args, *thread._kwargs.values())


def _census(kernel: Kernel) -> int:
    """Return the bit of all that live, if anybody counts them."""
    return kernel.identities[COUNTED_THREADS] if COUNTED_THREADS in kernel.identities.distinctions else 0


def _unused(kernel: Kernel, name: str) -> str:
    """Return a name that no other task of the run has."""
    taken = {task.name for task in kernel.tasks}
    if name not in taken:
        return name
    return next(f"{name}#{number}" for number in range(2, len(taken) + 2) if f"{name}#{number}" not in taken)


def _run(life: Life) -> None:
    """Be the body of a task that plays a thread."""
    life.task = life.kernel.current
    life.task.bit |= life.bit | _census(life.kernel)
    life.task.thread, life.task.daemon = life.thread, life.thread.daemon
    life.thread._ident = life.thread._native_id = identify(life.task)  # type: ignore[attr-defined]
    try:
        life.thread.run()
    except RunEnded:
        raise
    except BaseException as error:
        if life.kernel.over:
            raise
        if threading.excepthook is WORLD.hook:
            if isinstance(error, SystemExit):
                return
            raise
        threading.excepthook(threading.ExceptHookArgs((type(error), error, error.__traceback__, life.thread)))
    finally:
        life.thread._is_stopped = True  # type: ignore[attr-defined]


def join(original: Method) -> Method:
    """Replace ``Thread.join``."""

    def join(self: threading.Thread, timeout: float | None = None) -> None:
        life = _life(self)
        if life is None:
            return original(self, timeout)  # type: ignore[no-any-return]
        if life.task is None:
            raise RuntimeError("cannot join thread before it is started")
        if life.task is life.kernel.current:
            raise RuntimeError("cannot join current thread")
        ending = Owning("thread.join", life, _nothing, life.has_ended, _nothing)
        ending.writes |= life.task.bit
        life.kernel.perform_within(ending, timeout)
        return None

    return join


def is_alive(original: Method) -> Method:
    """Replace ``Thread.is_alive``."""

    def is_alive(self: threading.Thread) -> bool:
        life = _life(self)
        if life is None:
            return bool(original(self))
        look = Reading("thread.is_alive", life, lambda: life.task is not None and not life.task.ended)
        look.reads |= life.task.bit if life.task is not None else 0
        return bool(life.kernel.perform(look))

    return is_alive


def number(original: Method) -> Method:
    """Replace ``Thread.__hash__``, so that sets of threads have the same order in each run."""

    def __hash__(self: threading.Thread) -> int:  # noqa: N807
        life = self.__dict__.get("_started")
        return hash(life.identity) if type(life) is Life else original(self)  # type: ignore[no-any-return]

    return __hash__


def represent(original: Method) -> Method:
    """Replace ``Thread.__repr__``, which would ask whether the thread is alive."""

    def __repr__(self: threading.Thread) -> str:  # noqa: N807
        life = self.__dict__.get("_started")
        if not isinstance(life, Life):
            return str(original(self))
        status = "initial" if life.task is None else "stopped" if life.task.ended else "started"
        daemon = " daemon" if self.daemon else ""
        ident = "" if life.task is None else f" {identify(life.task)}"
        return f"<{type(self).__name__}({self.name}, {status}{daemon}{ident})>"

    return __repr__


def identify(task: Task) -> int:
    """Return the identifier of a thread: the same in each run."""
    return task.index + 1


def identify_current(kernel: Kernel) -> int:
    """Return the identifier of the current thread."""
    return identify(kernel.current)


def main(kernel: Kernel) -> threading.Thread:
    """Return the thread of the scenario itself."""
    return thread_of(kernel, kernel.tasks[0])


def count(kernel: Kernel) -> int:
    """Count the threads that live."""
    return len(living(kernel))


def current(kernel: Kernel) -> threading.Thread:
    """Return the thread of the current task; one is made up for a task that no thread object stands for."""
    return thread_of(kernel, kernel.current)


def thread_of(kernel: Kernel, task: Task) -> threading.Thread:
    """Return the thread object of a task."""
    if task.thread is None:
        kind = threading._MainThread if task is kernel.tasks[0] else threading.Thread  # type: ignore[attr-defined]
        thread = threading.Thread.__new__(kind)
        name = "MainThread" if task is kernel.tasks[0] else task.name
        threading.Thread.__init__(thread, name=name, daemon=task.daemon)
        life = Life.__new__(Life)
        life.kernel, life.thread, life.task, life.bit = kernel, thread, task, task.bit
        life.identity = task.key, 0
        thread._started = life
        thread._ident = thread._native_id = identify(task)
        task.thread = thread
    result: threading.Thread = task.thread
    return result


def name_new(kernel: Kernel, template: str) -> str:
    """Number threads anew in each run."""
    number = kernel.numbered[template] = kernel.numbered.get(template, 0) + 1
    return template % number


def living(kernel: Kernel) -> list[threading.Thread]:
    """List the threads that live."""
    if not kernel.identities.meet(COUNTED_THREADS):
        return _living(kernel)
    look = Operation("threading.enumerate", None, lambda: _living(kernel))
    look.reads |= _census(kernel)
    listed: list[threading.Thread] = kernel.perform(look)
    return listed


def _living(kernel: Kernel) -> list[threading.Thread]:
    return [thread_of(kernel, task) for task in kernel.living if task.carrier is not None]


def _nothing() -> None:
    return None
