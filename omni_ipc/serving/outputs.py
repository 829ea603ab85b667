"""The output table: the only place that knows which outputs are awaited, cached or not yet split.

    dispatcher ─ mint, expect_rpc, expect_batch ─┐
    pump ─ settle_rpc, deliver, take_split ──────┼─► OutputTable ─► futures
    consumer ─ wait, drop ───────────────────────┘

Arrival and registration may come in either order. Each pair meets in one critical section, and whoever comes second
completes the work: `wait` takes what `deliver` cached, `expect_batch` splits what `take_split` had to hold, and what
arrives behind a `drop` goes nowhere.

An output is *open* from `mint` on, and *settled* once it was delivered, dropped, or has failed: see ledger.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from omni_ipc.errors import Aborted, OmniError, PeerFailed, UsageError
from omni_ipc.seam.api import Future, Runtime
from omni_ipc.seam.futures import fail, resolve
from omni_ipc.serving.answers import AnswerTable
from omni_ipc.serving.ids import Minted, parts_of
from omni_ipc.serving.ledger import Ledger
from omni_ipc.serving.pending import Pending, Tally


class OutputTable(AnswerTable):
    """Futures of awaited outputs, outputs without a taker, and split maps; every method is one region.

    Futures are settled inside the critical section; a done-callback must not call the table.

    Args:
        epoch: the incarnation of the engine. Ids and answers of another one are none of this table's.
    """

    def __init__(self, *, rt: Runtime, epoch: int = 1) -> None:
        super().__init__(rt=rt, epoch=epoch)
        # All guarded by _lock.
        self._ledger = Ledger(epoch)
        # An output id is in at most one of _waiting and _cached, and is open.
        self._waiting: dict[str, Future[Any]] = {}
        self._cached: dict[str, Any] = {}
        # A batch id is in at most one of _splits (map first) and _unsplit (output first).
        self._splits: dict[str, tuple[str, ...]] = {}
        self._unsplit: dict[str, Any] = {}
        rt.watch(self, self._lock, name="OutputTable")

    def mint(self) -> Minted:
        """Make the id of one request's output.

        Raises:
            OmniError: the table is closed; the error says why.

        Spec: DispatcherMint
        """
        with self._rt.region("Dispatcher.Mint", self._lock):
            self._raise_if_closed()
            return self._ledger.mint()

    def mint_batch(self, requests: int) -> Minted:
        """Make the ids of a batch's outputs.

        Raises:
            OmniError: the table is closed; the error says why.

        Spec: DispatcherMint
        """
        with self._rt.region("Dispatcher.Mint", self._lock):
            self._raise_if_closed()
            return self._ledger.mint_batch(requests)

    def expect_batch(self, batch: str, outputs: Sequence[str]) -> None:
        """Register the split map of a batch: the ids of its outputs, in the order of its values.

        Adopts the batch if it has arrived already.

        Raises:
            OmniError: the table is closed, and the batch has not arrived; the error says why.

        Spec: DispatcherExpect
        """
        with self._rt.region("Dispatcher.Expect", self._lock, batch=batch):
            if batch in self._unsplit:
                self._split(outputs, self._unsplit.pop(batch))
            elif any(self._ledger.is_open(output) and output not in self._cached for output in outputs):
                self._splits[batch] = tuple(outputs)
            elif not self._ledger.open_of(batch):
                self._raise_if_closed()

    def take_split(self, batch: str, values: object) -> None:
        """Split an arrived batch among its outputs, or hold it until `expect_batch` names them.

        Args:
            values: one value (or error) an output, or one error for all.

        Spec: PumpTakeSplit
        """
        with self._rt.region("Pump.TakeSplit", self._lock, batch=batch):
            outputs = self._splits.pop(batch, None)
            if outputs is not None:
                self._split(outputs, values)
            elif self._ledger.open_of(batch) and batch not in self._unsplit:
                self._unsplit[batch] = values
            else:
                self._tally.discarded_outputs += 1

    def deliver(self, output: str, value: object) -> None:
        """Give an arrived output to its consumer, or cache it until `wait` asks for it.

        Args:
            value: the output, or the error that took its place.

        Spec: PumpDeliver
        """
        with self._rt.region("Pump.Deliver", self._lock, output=output):
            self._resolve_or_cache(output, value)

    def spoil(self, output: str, error: OmniError) -> None:
        """Put an error into the place of an output that is not delivered yet: it is of no use, here or on its way."""
        with self._rt.region("Dispatcher.Spoil", self._lock, output=output):
            self._cached.pop(output, None)
            self._resolve_or_cache(output, error)

    def wait(self, output: str) -> Future[Any]:
        """Ask for an output: a future that is settled already if the output is here.

        Raises:
            UsageError: somebody waits for this output already; or it is settled, or was never minted.
            OmniError: the table is closed; the error says why.

        Spec: ConsumerWait
        """
        with self._rt.region("Consumer.Wait", self._lock, output=output):
            if output in self._waiting:
                raise UsageError(f"Output '{output}' already has a consumer. Ask for it once, and share the future.")
            if output in self._cached:
                future = self._rt.future()
                self._settle(output, future, self._cached.pop(output))
                return future
            self._refuse_if_closed(output)
            if not self._ledger.is_open(output):
                raise UsageError(self._ledger.why_not_open(output))
            future = self._waiting[output] = self._rt.future()
            return future

    def drop(self, output: str, reason: OmniError | None = None) -> bool:
        """Give up an output, or all outputs of a batch; what arrives of it from now on goes nowhere.

        Args:
            reason: what whoever waits for it gets; `Aborted` by default.

        Returns:
            Whether any of it was still open: False if all was delivered, dropped, or had failed before.

        Spec: ConsumerDrop
        """
        with self._rt.region("Consumer.Drop", self._lock, output=output):
            given_up = self._ledger.open_of(output)
            for each in given_up:
                self._cached.pop(each, None)
                future = self._waiting.pop(each, None)
                if future is not None:
                    fail(future, reason or Aborted(f"Output '{each}' was given up before it came."))
                self._tally.dropped += 1
                self._close_output(each)
            return bool(given_up)

    def refuse(self, reason: OmniError) -> None:
        """Fail every new call, and every new wait for what is not here, with ``reason``; what is awaited may come.

        Spec: ExecutorRefuse
        """
        with self._rt.region("Executor.Refuse", self._lock):
            self._closed = self._closed or reason

    def close(self, reason: OmniError) -> None:
        """Fail everything that is awaited, and every later wait, with ``reason``; what is here can still be taken.

        Spec: ExecutorClose
        """
        with self._rt.region("Executor.Close", self._lock):
            self._closed = self._closed or reason
            self._fail_rpcs(reason)
            self._splits.clear()
            for batch in [*self._unsplit]:
                self._split_by_place(batch, self._unsplit.pop(batch))
            self._tally.failed += len(self._waiting)
            for future in self._waiting.values():
                fail(future, reason)
            self._waiting.clear()
            self._ledger.settle_all_but(self._cached)

    def describe(self) -> Pending:
        """Tell what the table holds."""
        with self._rt.region("Executor.Describe", self._lock):
            return Pending(tuple(self._waiting), tuple(self._cached), tuple(self._unsplit), tuple(self._rpcs))

    def tally(self) -> Tally:
        """Tell what became of everything so far."""
        with self._rt.region("Executor.Tally", self._lock):
            return msgspec.structs.replace(self._tally)

    # From here on: called with the lock held.

    def _split(self, outputs: Sequence[str], values: Any) -> None:
        if isinstance(values, BaseException):
            values = [values] * len(outputs)
        elif not isinstance(values, list | tuple) or len(values) != len(outputs):
            found = (
                f"{len(values)} outputs"
                if isinstance(values, list | tuple)
                else f"a value of type {type(values).__name__}"
            )
            wrong = PeerFailed(
                f"The worker returned {found} for a batch of {len(outputs)} requests. "
                "Let the pipeline's forward() return one output a request."
            )
            values = [wrong] * len(outputs)
        for output, value in zip(outputs, values, strict=True):
            self._resolve_or_cache(output, value)

    def _split_by_place(self, batch: str, values: Any) -> None:
        """Split a batch whose map would come too late."""
        known = isinstance(values, list | tuple)
        self._split(parts_of(batch, len(values)) if known else self._ledger.open_of(batch), values)

    def _resolve_or_cache(self, output: str, value: object) -> None:
        future = self._waiting.pop(output, None)
        if future is not None:
            self._settle(output, future, value)
        elif self._ledger.is_open(output) and output not in self._cached:
            self._cached[output] = value
        else:
            self._tally.discarded_outputs += 1

    def _settle(self, output: str, future: Future[Any], value: object) -> None:
        failed = isinstance(value, BaseException)
        if not (fail(future, value) if isinstance(value, BaseException) else resolve(future, value)):
            self._tally.dropped += 1  # its consumer was cancelled
        elif failed:
            self._tally.failed += 1
        else:
            self._tally.delivered += 1
        self._close_output(output)

    def _close_output(self, output: str) -> None:
        whole = self._ledger.settle(output)
        if whole is not None:
            self._splits.pop(whole, None)
            self._unsplit.pop(whole, None)

    def _refuse_if_closed(self, output: str) -> None:
        """Refuse a wait; the output has nobody who would take it then."""
        if self._closed is not None and self._ledger.is_open(output):
            self._tally.failed += 1
            self._close_output(output)
        self._raise_if_closed()
