"""The commands of one stream, in their order: each is a region, so that a conductor may hold it back."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from omni_ipc.seam.api import Future, Runtime
from omni_ipc.stress.devices.errand import Errand


def at_once() -> None:
    """Wait for nothing; do nothing."""


class _Command(NamedTuple):
    does: str
    run: Callable[[], object]
    ready: Callable[[], object]
    done: Future[None]


class Commands:
    """Works through the commands of a stream in a task of its own, which lives as long as there are some.

    Args:
        name: of the task: "device.side".
    """

    def __init__(self, rt: Runtime, name: str) -> None:
        self._rt = rt
        self._guard = rt.rlock()  # again by whom the garbage collector interrupts here: a dropped tensor is a command
        self._issued: deque[_Command] = deque()  # guarded by _guard
        self._errand = Errand(rt, name, self._work)  # guarded by _guard
        self._failed: BaseException | None = None  # by the task alone; what comes after a failure has failed, too

    def issue(self, does: str, run: Callable[[], object], *, ready: Callable[[], object] = at_once) -> Future[None]:
        """Add a command; returns what tells that it is done.

        Args:
            does: in traces: "copy".
            run: does it, within its step.
            ready: waits until the stream may come to it; whoever waits there does not stand before the step yet.
        """
        done: Future[None] = self._rt.future()
        with self._guard:
            self._issued.append(_Command(does, run, ready, done))
            self._errand.begin()
        return done

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
        with self._guard:
            if self._issued:
                return self._issued.popleft()
            self._errand.rest()
            return None
