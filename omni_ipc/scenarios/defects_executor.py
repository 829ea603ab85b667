"""Defects of the executor: of its pump and its table, when somebody is late, or has gone."""

from __future__ import annotations

from typing import Any

from omni_ipc.errors import InternalError
from omni_ipc.seam.api import Future
from omni_ipc.serving.links import Delivery
from omni_ipc.serving.messages import OutputReady, Reply
from omni_ipc.serving.outputs import OutputTable
from omni_ipc.serving.pump import ResultPump


class CancelledFuture(ResultPump):
    """Looks whether a waiter has gone, and then resolves its future: who cancels in between ends the pump."""

    def handle(self, delivery: Delivery[Reply]) -> None:
        match delivery.message:
            case OutputReady(output=output, split=False):
                _resolve_unless_done(self, output, delivery)
            case _:
                super().handle(delivery)


def _resolve_unless_done(pump: ResultPump, output: str, delivery: Delivery[Reply]) -> None:
    table = pump._table
    with pump._rt.region("Pump.Unpack", table._lock, output=output):
        value = _read(pump, delivery)
        future = table._waiting.pop(output, None)
        if future is not None:
            table._close_output(output)
        is_wanted = future is not None and not future.done()
    with pump._rt.region("Pump.Deliver", table._lock, output=output, holding=is_wanted):
        if future is None:
            table._resolve_or_cache(output, value)
        elif is_wanted and isinstance(value, BaseException):
            future.set_exception(value)
        elif is_wanted:
            future.set_result(value)


def _read(pump: ResultPump, delivery: Delivery[Reply]) -> object:
    try:
        return delivery.unpack()
    except Exception as error:
        pump.bad_messages += 1
        return InternalError(f"A reply of the worker could not be handled: {error!r}.")


class StaleReply(OutputTable):
    """Takes whatever answer comes for that to the call which waits longest, as if none could be late."""

    def settle_rpc(self, rpc: int, answer: object, *, epoch: int = 1, rank: int = 0) -> bool:
        with self._rt.region("Pump.Reply", self._lock, rpc=rpc):
            for asked in [*self._rpcs][:1] if epoch == self._epoch else []:
                return self._rpcs.pop(asked).take(rank, answer)
            self._tally.discarded_answers += 1
            return False


class WaitAfterShutdown(OutputTable):
    """Registers whoever asks for an output, though a shutdown may have cleared the table, and nobody will come."""

    def wait(self, output: str) -> Future[Any]:
        with self._rt.region("Consumer.Wait", self._lock, output=output):
            future = self._rt.future()
            if output in self._cached:
                self._settle(output, future, self._cached.pop(output))
            else:
                self._waiting[output] = future
            return future
