"""Defects of the executor: of its pump and its table, when somebody is late, or has gone."""

from __future__ import annotations

from typing import Any

from omni_ipc.seam.api import Future
from omni_ipc.serving.links import Delivery
from omni_ipc.serving.messages import OutputReady, Reply
from omni_ipc.serving.outputs import OutputTable
from omni_ipc.serving.pump import ResultPump, unpack


class CancelledFuture(ResultPump):
    """Looks whether a waiter has gone, and then resolves its future: who cancels in between ends the pump."""

    def handle(self, delivery: Delivery[Reply]) -> None:
        match delivery.message:
            case OutputReady(output=output, split=False):
                value, table = unpack(delivery), self._table
                with self._rt.region("Pump.Deliver", table._lock, output=output):
                    future = table._waiting.pop(output, None)
                    if future is None:
                        table._resolve_or_cache(output, value)
                    else:
                        table._close_output(output)
                if future is not None and not future.done():
                    future.set_result(value)
            case _:
                super().handle(delivery)


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
