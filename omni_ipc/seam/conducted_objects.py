"""Native objects whose waits end when the conductor says that their time is up, and whose uses may be its steps."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar, cast

from omni_ipc.seam import api
from omni_ipc.seam.predicates import wait_for
from omni_ipc.seam.turns import Turns

T = TypeVar("T")


class ConductedTask(threading.Thread):
    """A thread that tells when it ends."""

    def __init__(self, turns: Turns, run: Callable[[], object], name: str) -> None:
        super().__init__(name=name, daemon=True)
        self._turns = turns
        self._body = run
        self._over = threading.Event()
        self._joining: list[threading.Event] = []

    def run(self) -> None:
        try:
            self._body()
        finally:
            self._turns.leave()
            self._over.set()
            for joiner in self._joining:
                joiner.set()

    def join(self, timeout: float | None = None) -> None:
        if timeout is not None and timeout > 0:
            news = threading.Event()
            self._joining.append(news)
            with self._turns.limited("task.join", timeout, news.set) as wait:
                while not (self._over.is_set() or wait.is_up()):
                    news.wait(wait.left())
                    news.clear()
            timeout = None if self._over.is_set() else 0.0
        super().join(timeout)


class ConductedFuture(Future[Any]):
    """``concurrent.futures.Future``."""

    def __init__(self, turns: Turns) -> None:
        super().__init__()
        self._turns = turns

    def result(self, timeout: float | None = None) -> Any:
        return super().result(self._await("future.result", timeout))

    def exception(self, timeout: float | None = None) -> BaseException | None:
        return super().exception(self._await("future.exception", timeout))

    def cancel(self) -> bool:
        with self._turns.step("future.cancel"):
            return super().cancel()

    def _await(self, action: str, timeout: float | None) -> float | None:
        """Wait until it is settled, or the time is up; gives how long to wait behind that."""
        if timeout is None or timeout <= 0 or self.done():
            return timeout
        news = threading.Event()
        self.add_done_callback(lambda _: news.set())
        with self._turns.limited(action, timeout, news.set) as wait:
            while not (self.done() or wait.is_up()):
                news.wait(wait.left())
                news.clear()
        return 0.0


class _Sleeper:
    """Whoever waits for a notification; to `threading.Condition` it is the lock that a notification releases."""

    def __init__(self) -> None:
        self.news = threading.Event()
        self.notified = False

    def release(self) -> None:
        self.notified = True
        self.news.set()


class ConductedCondition(threading.Condition):
    """``threading.Condition``: a wait inside a step ends the step, and waking up may be one of its own."""

    def __init__(self, turns: Turns, lock: api.Lock | None) -> None:
        super().__init__(cast("threading.Lock | None", lock))
        self._turns = turns

    def wait(self, timeout: float | None = None) -> bool:
        inner = cast("Any", self)
        if not inner._is_owned():
            raise RuntimeError("cannot wait on un-acquired lock")
        sleeper = _Sleeper()
        inner._waiters.append(sleeper)
        saved = inner._release_save()
        self._turns.end()
        woken = False
        try:
            woken = self._sleep(sleeper, timeout)
        finally:
            inner._acquire_restore(saved)
            if not sleeper.notified:
                inner._waiters.remove(sleeper)
        return woken

    def _sleep(self, sleeper: _Sleeper, timeout: float | None) -> bool:
        """Wait to be notified, and for the turn to go on; tell whether it was before the time was up."""
        if timeout is None:
            sleeper.news.wait()
        elif timeout > 0:
            with self._turns.limited("condition.wake", timeout, sleeper.news.set) as wait:
                while not (sleeper.notified or wait.is_up()):
                    sleeper.news.wait(wait.left())
                    sleeper.news.clear()
        woken = sleeper.notified
        if woken and self._turns.speaks_of("condition.wake"):
            self._turns.begin("condition.wake", {}, depth=3)
        return woken

    def wait_for(self, predicate: Callable[[], T], timeout: float | None = None) -> T:
        return wait_for(predicate, timeout, wait=self.wait, now=self._turns.now)


class ConductedEvent(threading.Event):
    """``threading.Event``: setting it, and looking at it, may be steps."""

    def __init__(self, turns: Turns) -> None:
        super().__init__()
        self._turns = turns

    def set(self) -> None:
        with self._turns.step("event.set"):
            super().set()

    def is_set(self) -> bool:
        with self._turns.step("event.is_set"):
            return super().is_set()
