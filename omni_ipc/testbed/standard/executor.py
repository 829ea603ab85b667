"""``concurrent.futures.ThreadPoolExecutor`` under control.

Submitting is one step, and so is the taking of work by a worker; another one tells its future that it runs. A worker
whose future is settled counts as idle at once, while a real one takes a moment more, in which another worker may be
started. The lock of a real one is held only while work is dropped that nobody has taken: it is kept as whoever drops.
"""

from __future__ import annotations

import functools
import logging
import sys
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures.thread import BrokenThreadPool
from typing import Any

from omni_ipc.errors import Inconclusive
from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.objects.base import Controlled
from omni_ipc.testbed.objects.future import ControlledFuture
from omni_ipc.testbed.operations import Operation, Owning
from omni_ipc.testbed.standard import current, life
from omni_ipc.testbed.standard.world import WORLD, asks, running
from omni_ipc.testbed.tasks import RunEnded, Task
from omni_ipc.testbed.where import locate

Method = Callable[..., Any]
Work = tuple[ControlledFuture, Callable[..., Any], tuple[Any, ...], dict[str, Any]]

_LOGGER = logging.getLogger("concurrent.futures")


def initialize(original: Method) -> Method:
    """Replace ``ThreadPoolExecutor.__init__``."""

    @functools.wraps(original)
    def __init__(self: Any, *args: Any, **options: Any) -> None:  # noqa: N807
        original(self, *args, **options)
        kernel = WORLD.maker()
        if kernel is not None and asks(sys._getframe(1)):
            self._workers = Workers(kernel, self)
            if self._thread_name_prefix.startswith("ThreadPoolExecutor-"):
                self._thread_name_prefix = current.name_new(kernel, "ThreadPoolExecutor-%d")

    return __init__


def submit(original: Method) -> Method:
    """Replace ``ThreadPoolExecutor.submit``."""

    @functools.wraps(original)
    def submit(self: Any, fn: Callable[..., Any], /, *args: Any, **options: Any) -> Any:
        workers = _workers(self)
        return original(self, fn, *args, **options) if workers is None else workers.submit(fn, args, options)

    return submit


def shutdown(original: Method) -> Method:
    """Replace ``ThreadPoolExecutor.shutdown``."""

    @functools.wraps(original)
    def shutdown(self: Any, wait: bool = True, *, cancel_futures: bool = False) -> None:
        workers = _workers(self)
        if workers is None:
            original(self, wait, cancel_futures=cancel_futures)
        else:
            workers.shutdown(wait, cancel_futures)

    return shutdown


def _workers(executor: Any) -> Workers | None:
    """Return the workers of an executor that was made under control; None if nobody asks who is under control.

    Raises:
        Inconclusive: a task uses an executor that was made before its run.
    """
    workers: Workers | None = executor.__dict__.get("_workers")
    kernel = running()
    if workers is None and kernel is not None and asks(sys._getframe(2)):
        kernel.stop(
            Inconclusive(
                f"Task '{kernel.current.name}' used an executor that was made before the run, at "
                f"{locate(sys._getframe(2))}: it is not under control. Make it in the scenario."
            )
        )
    return workers


class Workers(Controlled):
    """The workers of one executor, and what they are to do.

    Args:
        executor: keeps what its class was made with.
    """

    kind = "executor"

    def __init__(self, kernel: Kernel, executor: Any) -> None:
        super().__init__(kernel)
        self._executor = executor
        self._work: deque[Work] = deque()
        self._idle = 0
        self._threads: list[threading.Thread] = []
        self._stopped = False
        self._broken = ""
        self.dropper: Task | None = None

    def submit(self, fn: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> ControlledFuture:
        return self.kernel.perform(  # type: ignore[no-any-return]
            _Locking("executor.submit", self, lambda: self._submit(fn, args, options), self._is_free)
        )

    def shutdown(self, wait: bool, cancel_futures: bool) -> None:
        self.kernel.perform(_Locking("executor.shutdown", self, lambda: self._stop(cancel_futures), self._is_free))
        if cancel_futures:
            self._drop(ControlledFuture.cancel)
        for thread in self._threads if wait else ():
            thread.join()

    def _submit(self, fn: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> ControlledFuture:
        if self._broken:
            raise BrokenThreadPool(self._broken)
        if self._stopped:
            raise RuntimeError("cannot schedule new futures after shutdown")
        if self.kernel.starting is not None:
            self.kernel.starting(fn, *args, *options.values())
        future = ControlledFuture(self.kernel)
        self._work.append((future, fn, args, options))
        if self._idle < len(self._work) and len(self._threads) < self._executor._max_workers:
            name = f"{self._executor._thread_name_prefix}_{len(self._threads)}"
            self._threads.append(life.spawn(self.kernel, self._serve, name))
        return future

    def _is_free(self) -> bool:
        return self.dropper is None

    def _stop(self, drops: bool) -> None:
        self._stopped = True
        if drops:
            self.dropper = self.kernel.current

    def _drop(self, settle: Callable[[ControlledFuture], object]) -> None:
        """Settle what no worker has taken, one after the other; nobody can submit meanwhile."""
        try:
            while (future := self.kernel.perform(Operation("executor.drop", self, self._next))) is not None:
                settle(future)
        finally:
            self.dropper = None
            self.kernel.writes |= self.bit

    def _next(self) -> ControlledFuture | None:
        return self._work.popleft()[0] if self._work else None

    def _serve(self) -> None:
        """Do what is to be done, as one worker, until there will be no more."""
        if not self._initialize():
            return
        while (work := self._take()) is not None:
            future, fn, args, options = work
            if future.set_running_or_notify_cancel():
                _compute(future, fn, args, options)
            del work, future, fn, args, options

    def _initialize(self) -> bool:
        if self._executor._initializer is None:
            return True
        try:
            self._executor._initializer(*self._executor._initargs)
        except RunEnded:
            raise
        except BaseException:
            _LOGGER.critical("Exception in initializer:", exc_info=True)
            self.kernel.perform(_Locking("executor.break", self, self._break, self._is_free))
            self._drop(lambda future: future.set_exception(BrokenThreadPool(self._broken)))
            return False
        return True

    def _break(self) -> None:
        self._broken = "A thread initializer failed, the thread pool is not usable anymore"
        self._stop(drops=True)

    def _take(self) -> Work | None:
        """Wait for work; a worker that waits does not keep the process."""
        task = self.kernel.current
        task.daemon = True
        self._idle += 1
        self.kernel.writes |= self.bit
        return self.kernel.perform(  # type: ignore[no-any-return]
            Operation("executor.take", self, self._hand_out, self._has_news)
        )

    def _has_news(self) -> bool:
        return bool(self._work) or (self._stopped and self.dropper is None)

    def _hand_out(self) -> Work | None:
        self._idle -= 1
        self.kernel.current.daemon = False
        return self._work.popleft() if self._work else None

    def shown(self) -> str:
        return f"{len(self._work)} to do, {self._idle} of {len(self._threads)} workers idle"

    def blocked_on(self) -> str:
        return f"work for {self.name}"


class _Locking(Owning):
    """What a real executor does under its lock."""

    __slots__ = ()

    subject: Workers

    def blocked_on(self) -> str:
        dropper = self.subject.dropper
        return f"the lock of {self.subject.name}, which '{dropper and dropper.name}' holds"

    def holder(self) -> Task | None:
        return self.subject.dropper


def _compute(future: ControlledFuture, fn: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> None:
    try:
        result = fn(*args, **options)
    except RunEnded:
        raise
    except BaseException as error:
        future.set_exception(error)
    else:
        future.set_result(result)
