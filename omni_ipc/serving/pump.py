"""The result pump: the one reader of what workers say; it hands answers and outputs to the table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from omni_ipc.errors import OmniError, PeerClosed, PeerDied, ShutdownError, Timeout
from omni_ipc.seam.api import Runtime
from omni_ipc.serving.links import Delivery, Receiver
from omni_ipc.serving.messages import ComputeDone, ComputeFailed, OutputFailed, OutputReady, Reply
from omni_ipc.serving.outputs import OutputTable


class ResultPump:
    """Turns replies into settled futures, until every worker has said goodbye or one has died.

    Args:
        death: asked when nothing came for a while; the error to fail all pending work with once a worker is dead.
    """

    def __init__(
        self,
        *,
        rt: Runtime,
        results: Receiver[Reply],
        table: OutputTable,
        poll_s: float,
        death: Callable[[], OmniError | None] = lambda: None,
    ) -> None:
        self._rt = rt
        self._results = results
        self._table = table
        self._poll_s = poll_s
        self._death = death
        self._stopping = False

    def expect_end(self) -> None:
        """Take the workers' goodbye for what was asked of them."""
        self._stopping = True

    def run(self) -> None:
        """Pump until the end; whatever ends it, nothing stays pending behind it."""
        reason: OmniError = ShutdownError("The result pump ended unexpectedly. Look at its traceback above.")
        try:
            reason = self._pump()
        finally:
            self._table.close(reason)

    def _pump(self) -> OmniError:
        died: OmniError | None = None
        while True:
            try:
                delivery = self._results.receive(timeout=self._poll_s)
            except Timeout:
                if (death := self._death()) is not None:
                    return death
            except PeerDied as error:  # of one lane: what the others still hold is taken first
                died = self._death() or error
            except PeerClosed:
                return died or self._end()
            except OmniError as error:  # the lane is damaged: nothing that follows could be trusted
                return error
            else:
                self.handle(delivery)

    def _end(self) -> OmniError:
        if self._stopping:
            return ShutdownError("The engine has shut down. Start a new one for further work.")
        return self._death() or PeerClosed(
            "The worker has ended without being asked to. Look at its log, and start anew."
        )

    def handle(self, delivery: Delivery[Reply]) -> None:
        """Settle what one reply is about."""
        match delivery.message:
            case ComputeDone() as done:
                self._table.settle_rpc(done.rpc, done)
            case ComputeFailed(rpc=rpc, error=error):
                self._table.settle_rpc(rpc, error.as_error("The worker"))
            case OutputReady() as ready:
                self.take_output(ready, delivery)
            case OutputFailed(error=error) as failed:
                self._hand_over(failed, error.as_error("The worker"))

    def take_output(self, ready: OutputReady, delivery: Delivery[Reply]) -> None:
        """Unpack an output first, without any lock; then hand it over in one critical section.

        Spec: PumpUnpack
        """
        with self._rt.region("Pump.Unpack", output=ready.output):
            values = unpack(delivery)
        self._hand_over(ready, values)

    def _hand_over(self, announced: OutputReady | OutputFailed, values: object) -> None:
        if announced.split:
            self._table.take_split(announced.output, values)
        else:
            self._table.deliver(announced.output, values)


def unpack(delivery: Delivery[Reply]) -> Any:
    """Unpack, or return the error that takes the output's place: one bad message costs one message."""
    try:
        return delivery.unpack()
    except OmniError as error:
        return error
