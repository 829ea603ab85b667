"""``concurrent.futures.Future`` under control."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, InvalidStateError
from typing import Any

from omni_ipc.testbed.brief import brief
from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.objects.base import Controlled
from omni_ipc.testbed.objects.state import own
from omni_ipc.testbed.operations import Operation, Reading, nothing

PENDING = "PENDING"
RUNNING = "RUNNING"
CANCELLED = "CANCELLED"
NOTIFIED = "CANCELLED_AND_NOTIFIED"  # cancelled, and whoever was to compute it knows
FINISHED = "FINISHED"
_DONE = (CANCELLED, NOTIFIED, FINISHED)

_LOGGER = logging.getLogger("concurrent.futures")


class ControlledFuture(Future[Any], Controlled):
    """A value to come; its callbacks run in the task that settles it, right after the step that does.

    Attributes:
        settled_at: how many steps had been taken when it came to its end, as `wait` and `as_completed` see it.
    """

    kind = "future"
    _state = own("_state", "_stage")
    _result = own("_result", "_value")
    _exception = own("_exception", "_error")

    def __init__(self, kernel: Kernel) -> None:
        Controlled.__init__(self, kernel)
        self._stage = PENDING
        self._value: Any = None
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[Any], object]] = []
        self.settled_at = 0

    def adopt(self, kernel: Kernel) -> None:
        super().adopt(kernel)
        kernel.announce(self)

    def result(self, timeout: float | None = None) -> Any:
        error = self._await("future.result", timeout)
        if error is None:
            return self._value
        try:
            raise error
        finally:
            del error  # its traceback refers to this frame

    def exception(self, timeout: float | None = None) -> BaseException | None:
        return self._await("future.exception", timeout)

    def done(self) -> bool:
        return bool(self.kernel.perform(Reading("future.done", self, self._is_done)))

    def cancelled(self) -> bool:
        return bool(self.kernel.perform(Reading("future.cancelled", self, self._is_cancelled)))

    def running(self) -> bool:
        return bool(self.kernel.perform(Reading("future.running", self, lambda: self._stage is RUNNING)))

    def cancel(self) -> bool:
        cancelled = bool(self.kernel.perform(Operation("future.cancel", self, self._cancel)))
        if cancelled:
            self._call_back()
        return cancelled

    def set_running_or_notify_cancel(self) -> bool:
        return bool(self.kernel.perform(Operation("future.set_running_or_notify_cancel", self, self._begin)))

    def set_result(self, result: Any) -> None:
        self.kernel.perform(Operation("future.set_result", self, lambda: self._settle(result, None)))
        self._call_back()

    def set_exception(self, exception: BaseException | None) -> None:
        self.kernel.perform(Operation("future.set_exception", self, lambda: self._settle(None, exception)))
        self._call_back()

    def add_done_callback(self, fn: Callable[[Any], object]) -> None:
        if self.kernel.perform(Operation("future.add_done_callback", self, lambda: self._listen(fn))):
            self._call(fn)

    def can_be_cancelled(self, *, by_name: bool) -> bool:
        return self._stage is PENDING

    def cancel_at_once(self) -> Callable[[], object] | None:
        self._cancel()
        return self._call_back if self._callbacks else None

    def _begin(self) -> bool:
        if self._stage not in (PENDING, CANCELLED):
            _LOGGER.critical("Future %s in unexpected state: %s", self.name, self._stage)
            raise RuntimeError("Future in unexpected state")
        self._stage = RUNNING if self._stage is PENDING else NOTIFIED
        if self._stage is NOTIFIED:
            self.settled_at = self.kernel.depth
        return self._stage is RUNNING

    def _await(self, action: str, timeout: float | None) -> BaseException | None:
        """Wait until the future is settled, and return its error."""
        self.kernel.perform_within(Reading(action, self, nothing, self._is_done, _raise_timeout), timeout)
        if self._stage is not FINISHED:
            raise CancelledError
        return self._error

    def _is_done(self) -> bool:
        return self._stage in _DONE

    def _cancel(self) -> bool:
        if self._stage is PENDING:
            self._stage = CANCELLED
        return self._is_cancelled()

    def _is_cancelled(self) -> bool:
        return self._stage in (CANCELLED, NOTIFIED)

    def _settle(self, result: Any, error: BaseException | None) -> None:
        if self._stage in _DONE:
            raise InvalidStateError(f"{self._stage}: {self!r}")
        self._value, self._error = result, error
        self._stage = FINISHED
        self.settled_at = self.kernel.depth

    def _listen(self, fn: Callable[[Any], object]) -> bool:
        if self._stage in _DONE:
            return True
        self._callbacks.append(fn)
        return False

    def _call_back(self) -> None:
        callbacks, self._callbacks = self._callbacks, []
        for fn in callbacks:
            self._call(fn)

    def _call(self, fn: Callable[[Any], object]) -> None:
        try:
            fn(self)
        except Exception:  # as the standard library does: the setter does not suffer for it
            _LOGGER.exception("exception calling callback for %r", self)

    def __repr__(self) -> str:
        return f"<{self.name} {self._stage.lower()}>"

    def shown(self) -> str:
        if self._stage is not FINISHED:
            return self._stage.lower()
        return f"result {brief(self._value)}" if self._error is None else f"error {brief(self._error)}"

    def blocked_on(self) -> str:
        return f"{self.name} to be settled"


def _raise_timeout() -> None:
    raise TimeoutError
