"""Who runs the pump: a task of its own, or, in step execution, whoever waits for an answer."""

from __future__ import annotations

from typing import Any, Protocol

from omni_ipc.errors import InternalError
from omni_ipc.seam.api import Future, Runtime, Task
from omni_ipc.serving.config import ServingConfig
from omni_ipc.serving.pump import ResultPump


class Pumping(Protocol):
    """Keeps the pump going."""

    def start(self) -> None:
        """Begin."""

    def wait(self, future: Future[Any], timeout_s: float) -> None:
        """Wait until a future of the table is settled.

        Raises:
            TimeoutError: it is not, ``timeout_s`` seconds later.
            BaseException: what the future has failed with.
        """

    def look(self) -> None:
        """Note whether it gets on; for a monitor, every ``poll_s``."""

    def check(self) -> None:
        """See whether what is said still arrives, by what the looks have noted.

        Raises:
            OmniError: it does not; says why.
        """

    def finish(self, timeout_s: float) -> bool:
        """Wait until nothing more will come, and tell whether that was so in time."""


class PumpTask:
    """The pump in a task of its own."""

    def __init__(self, *, rt: Runtime, pump: ResultPump, config: ServingConfig) -> None:
        self._rt = rt
        self._pump = pump
        self._config = config
        self._task: Task | None = None
        self._beat = self._looked = pump.beat
        self._silent_s = 0.0  # since that beat, as far as there were looks

    def start(self) -> None:
        self._task = self._rt.spawn(self._pump.run, name="pump")

    def wait(self, future: Future[Any], timeout_s: float) -> None:
        future.result(timeout_s)

    def look(self) -> None:
        """See whether it gets on. Time without looks does not count: the whole process may have been stopped."""
        beat, now = self._pump.beat, self._rt.now()
        looked_for_s = min(now - self._looked, 2 * self._config.poll_s)
        self._silent_s = self._silent_s + looked_for_s if beat == self._beat else 0.0
        self._beat, self._looked = beat, now

    def check(self) -> None:
        if self._task is None or self._pump.ended is not None:
            return
        if not self._task.is_alive():
            raise InternalError("The result pump is dead. Look at its traceback in the log; start a new engine.")
        if self._silent_s > self._config.poll_s + self._config.pump_timeout_s:
            raise InternalError(
                f"The result pump is stuck: it has been busy with one message for {self._silent_s:.1f} s. "
                "Look at what it does: py-spy dump. If its messages are merely large, set pump_timeout_s to a "
                f"larger value than {self._config.pump_timeout_s:g}."
            )

    def finish(self, timeout_s: float) -> bool:
        if self._task is None:
            return False
        self._task.join(timeout_s)
        return not self._task.is_alive()


class InlinePump:
    """The pump by turns, in the tasks that wait for answers; one of them turns it for all."""

    def __init__(self, *, rt: Runtime, pump: ResultPump, config: ServingConfig) -> None:
        self._rt = rt
        self._pump = pump
        self._poll_s = config.poll_s
        self._turning = rt.lock()

    def start(self) -> None:
        pass  # whoever waits begins

    def look(self) -> None:
        pass  # it gets on if anybody waits

    def wait(self, future: Future[Any], timeout_s: float) -> None:
        deadline = self._rt.now() + timeout_s
        while not future.done() and (remaining := deadline - self._rt.now()) > 0:
            self._turn(min(remaining, self._poll_s))
        future.result(0)

    def check(self) -> None:
        if self._pump.ended is None and (death := self._pump.death()) is not None:
            raise death

    def finish(self, timeout_s: float) -> bool:
        deadline = self._rt.now() + timeout_s
        while self._pump.ended is None and (remaining := deadline - self._rt.now()) > 0:
            self._turn(min(remaining, self._poll_s))
        return self._pump.ended is not None

    def _turn(self, timeout_s: float) -> None:
        with self._turning:
            self._pump.turn(timeout_s)
