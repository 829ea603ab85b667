"""Whether an engine can still work: the first failure is final, and everybody who asked is told of it once."""

from __future__ import annotations

import logging
from collections.abc import Callable

from omni_ipc.errors import OmniError
from omni_ipc.seam.api import Runtime

OnFailure = Callable[[OmniError], object]

_LOGGER = logging.getLogger(__name__)


class Health:
    """Keeps the first failure, and who is to be told."""

    def __init__(self, *, rt: Runtime) -> None:
        self._rt = rt
        self._lock = rt.lock()
        self._failure: OmniError | None = None
        self._callbacks: list[OnFailure] = []
        rt.watch(self, self._lock, name="Health")

    def fail(self, failure: OmniError) -> None:
        """Note a failure, and tell of it, unless there was one before."""
        with self._rt.region("Health.Fail", self._lock):
            if self._failure is not None:
                return
            self._failure = failure
            callbacks = tuple(self._callbacks)
        for callback in callbacks:
            _tell(callback, failure)

    def on_failure(self, callback: OnFailure) -> None:
        """Have a function called with the failure, exactly once, from whichever task notes it; now, if it is here.

        What the function raises is logged, and goes no further.
        """
        with self._rt.region("Health.Register", self._lock):
            failure = self._failure
            if failure is None:
                self._callbacks.append(callback)
        if failure is not None:
            _tell(callback, failure)

    def failure(self) -> OmniError | None:
        """Give the failure, if there is one."""
        with self._rt.region("Health.Look", self._lock):
            return self._failure


def _tell(callback: OnFailure, failure: OmniError) -> None:
    try:
        callback(failure)
    except Exception:
        _LOGGER.exception("The failure callback %r raised, when told of: %s", callback, failure)
