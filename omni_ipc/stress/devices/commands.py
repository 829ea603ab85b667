"""The commands of one stream, in their order: each is a region, so that a conductor may hold it back."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from omni_ipc.seam.api import Future, Runtime, Task


def at_once() -> None:
    """Wait for nothing; do nothing."""


class _Command(NamedTuple):
    does: str
    run: Callable[[], object]
    ready: Callable[[], object]
    done: Future[None]


class Commands:
    """Works through the commands of a stream in a task of its own, from the first one until `close`.

    Args:
        name: of the task: "device.side".
    """

    def __init__(self, rt: Runtime, name: str) -> None:
        self._rt = rt
        self._name = name
        self._guard = rt.rlock()  # again by whom the garbage collector interrupts here: a dropped tensor is a command
        self._changed = rt.condition(self._guard)
        self._issued: deque[_Command] = deque()  # guarded by _guard
        self._task: Task | None = None  # guarded by _guard
        self._closed = False  # guarded by _guard
        self._failed: BaseException | None = None  # by the task alone; what comes after a failure has failed, too

    def issue(self, does: str, run: Callable[[], object], *, ready: Callable[[], object] = at_once) -> Future[None]:
        """Add a command; returns what tells that it is done.

        Args:
            does: in traces: "copy".
            run: does it, within its step.
            ready: waits until the stream may come to it; whoever waits there does not stand before the step yet.
        """
        done: Future[None] = self._rt.future()
        with self._changed:
            if self._closed:  # a tensor that is dropped now goes with all of the memory
                done.cancel()
                return done
            self._issued.append(_Command(does, run, ready, done))
            self._task = self._task or self._rt.spawn(self._work, name=self._name)
            self._changed.notify()
        return done

    def close(self) -> None:
        """Do what was issued, and end the task; what is issued from now on is never done."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        if self._task is not None:
            self._task.join()

    def _work(self) -> None:
        while (command := self._next()) is not None:
            try:
                command.ready()
                with self._rt.region("Stream.Step", does=command.does):
                    command.run()
            except BaseException as error:
                self._failed = self._failed or error
            if self._failed is None:
                command.done.set_result(None)
            else:
                command.done.set_exception(self._failed)
            del command  # with what it holds, which may issue what comes after it

    def _next(self) -> _Command | None:
        with self._changed:
            self._changed.wait_for(lambda: self._issued or self._closed)
            return self._issued.popleft() if self._issued else None
