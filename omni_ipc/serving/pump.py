"""The result pump: the one reader of what workers say; it hands answers and outputs to the table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from omni_ipc.errors import (
    FormatError,
    InternalError,
    LaneBroken,
    OmniError,
    PeerClosed,
    PeerDied,
    PeerFailed,
    ShutdownError,
    Timeout,
)
from omni_ipc.seam.api import Runtime
from omni_ipc.serving.computed import Computed, with_errors
from omni_ipc.serving.links import Delivery, WorkerLink
from omni_ipc.serving.messages import (
    CallFailed,
    ComputeDone,
    ComputeFailed,
    OutputFailed,
    OutputReady,
    Reply,
    Returned,
)
from omni_ipc.serving.outputs import OutputTable
from omni_ipc.transport.wire import RemoteError


class ResultPump:
    """Turns replies into settled futures, until every worker has said goodbye or one has died.

    Args:
        poll_s: how often it looks after the workers when nothing comes.
        end: called once, with the reason, when the pump ends for whatever reason; nothing may stay pending behind it.
    """

    def __init__(
        self, *, rt: Runtime, link: WorkerLink, table: OutputTable, poll_s: float, end: Callable[[OmniError], None]
    ) -> None:
        self._rt = rt
        self._link = link
        self._table = table
        self._poll_s = poll_s
        self._end = end
        self._stopping = False
        self._died: tuple[OmniError, float] | None = None  # the first death that was seen, and when
        self.bad_messages = 0
        self.beat = rt.now()  # when it last began to wait for a message
        self.ended: OmniError | None = None  # why nothing more will come

    def expect_end(self) -> None:
        """Take the workers' goodbye for what was asked of them."""
        self._stopping = True

    def run(self) -> None:
        """Pump until the end."""
        try:
            while self.ended is None:
                self.turn(self._poll_s)
        finally:
            if self.ended is None:
                self._finish(InternalError("The result pump was ended from outside. Start a new engine."))

    def turn(self, timeout_s: float) -> None:
        """Wait for a message, and handle it; what cannot be read or handled costs that message alone.

        Behind the end it does nothing.
        """
        if self.ended is not None:
            return
        self.beat = self._rt.now()
        try:
            reason = self._take(timeout_s)
        except Exception as error:
            reason = InternalError(
                f"The result pump died of {type(error).__name__}: {error}. Please report it, and start a new engine."
            )
            reason.__cause__ = error
        if reason is not None:
            self._finish(reason)

    def death(self) -> OmniError | None:
        """Give the death of the first rank that is dead."""
        deaths = (self._link.death(rank) for rank in range(self._link.ranks))
        return next((death for death in deaths if death is not None), None)

    def handle(self, delivery: Delivery[Reply]) -> None:
        """Settle what one reply is about; whatever goes wrong with it, goes wrong for it alone."""
        try:
            self._settle(delivery)
        except Exception as error:
            self.bad_messages += 1
            wrong = InternalError(f"A reply of the worker could not be handled: {error!r}. Please report it.")
            wrong.__cause__ = error
            self._refuse(delivery.message, wrong)

    def take_output(self, ready: OutputReady, delivery: Delivery[Reply]) -> None:
        """Unpack an output first, without any lock; then hand it over in one critical section.

        Spec: PumpUnpack
        """
        with self._rt.region("Pump.Unpack", output=ready.output):
            values = with_errors(unpack(delivery), {at: _told(error) for at, error in ready.errors.items()})
        self._hand_over(ready, values)

    def _settle(self, delivery: Delivery[Reply]) -> None:
        match delivery.message:
            case ComputeDone() as done:
                self._answer(done, Computed(done, unpack(delivery)))
            case Returned() as returned:
                self._answer(returned, returned.value)
            case ComputeFailed() | CallFailed() as failed:
                self._answer(failed, _told(failed.error))
            case OutputReady() as ready:
                self.take_output(ready, delivery)
            case OutputFailed(error=error) as failed:
                self._hand_over(failed, _told(error))

    def _answer(self, reply: ComputeDone | Returned | ComputeFailed | CallFailed, answer: object) -> None:
        self._table.settle_rpc(reply.rpc, answer, epoch=reply.epoch, rank=reply.rank)

    def _hand_over(self, announced: OutputReady | OutputFailed, values: object) -> None:
        if announced.split:
            self._table.take_split(announced.output, values)
        else:
            self._table.deliver(announced.output, values)

    def _refuse(self, reply: Reply, error: OmniError) -> None:
        if isinstance(reply, OutputReady | OutputFailed):
            self._hand_over(reply, error)
        else:
            self._answer(reply, error)

    def _take(self, timeout_s: float) -> OmniError | None:
        """Take a message; give the reason once nothing more will come."""
        try:
            delivery = self._link.results.receive(timeout=timeout_s)
        except Timeout:
            if self._died is not None or (death := self.death()) is None:
                return self._died and self._died[0]
            self._died = death, self._rt.now()  # and what it had published meanwhile is taken first
        except PeerDied as error:  # of one lane: what the others still hold is taken first
            self._died = self._died or (self.death() or error, self._rt.now())
        except PeerClosed:
            return self._why_closed()
        except LaneBroken as error:  # what else it would have said, nobody will ever know
            return error
        except (FormatError, PeerFailed):
            self.bad_messages += 1
        else:
            self.handle(delivery)
        if self._died is not None and self._rt.now() - self._died[1] > self._poll_s:
            return self._died[0]
        return None

    def _finish(self, reason: OmniError) -> None:
        self.ended = reason
        self._end(reason)

    def _why_closed(self) -> OmniError:
        if self._died is not None:
            return self._died[0]
        if self._stopping:
            return ShutdownError("The engine has shut down. Start a new one for further work.")
        return self.death() or PeerClosed(
            "The worker has ended without being asked to. Look at what it printed, and start anew."
        )


def unpack(delivery: Delivery[Reply]) -> Any:
    """Unpack, or return the error that takes the output's place: one bad message costs one message."""
    try:
        return delivery.unpack()
    except OmniError as error:
        return error


def _told(error: RemoteError) -> OmniError:
    return error.as_error("The worker")
