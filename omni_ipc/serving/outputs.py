"""The output table: the only place that knows which outputs are awaited, cached or not yet split.

    dispatcher ─ expect_rpc, expect_batch ─┐
    pump ─ settle_rpc, deliver, take_split ┼─► OutputTable ─► futures
    consumer ─ wait, drop ─────────────────┘

Arrival and registration may come in either order. Each pair meets in one critical section, and whoever comes second
completes the work: `wait` takes what `deliver` cached, `expect_batch` splits what `take_split` had to hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from omni_ipc.errors import OmniError, PeerFailed, UsageError
from omni_ipc.seam.api import Future, Runtime
from omni_ipc.seam.futures import fail, resolve


class Pending(msgspec.Struct, frozen=True):
    """What the table holds: ids, in order of their arrival."""

    waiting: tuple[str, ...]  # awaited by a consumer, not here yet
    cached: tuple[str, ...]  # here, not yet asked for
    unsplit: tuple[str, ...]  # batches that are here without their split map
    rpcs: tuple[int, ...]  # calls without an answer

    def __str__(self) -> str:
        held = msgspec.structs.asdict(self).items()
        return ", ".join(f"{name} {len(ids)}{f' [{_first(ids)}]' if ids else ''}" for name, ids in held)


class OutputTable:
    """Futures of awaited outputs, outputs without a taker, and split maps; every method is one region.

    Futures are settled inside the critical section; a done-callback must not call the table.
    """

    def __init__(self, *, rt: Runtime) -> None:
        self._rt = rt
        self._lock = rt.lock()
        # All guarded by _lock. An output id is in at most one of _waiting and _cached.
        self._rpcs: dict[int, Future[Any]] = {}
        self._waiting: dict[str, Future[Any]] = {}
        self._cached: dict[str, Any] = {}
        # A batch id is in at most one of _splits (map first) and _unsplit (output first).
        self._splits: dict[str, tuple[str, ...]] = {}
        self._unsplit: dict[str, Any] = {}
        self._closed: OmniError | None = None
        rt.watch(self, self._lock, name="OutputTable")

    def expect_rpc(self, rpc: int) -> Future[Any]:
        """Register a call before it is sent, so that its answer finds it.

        Raises:
            OmniError: the table is closed; the error says why.
        """
        with self._rt.region("Dispatcher.Call", self._lock, rpc=rpc):
            self._raise_if_closed()
            future = self._rpcs[rpc] = self._rt.future()
            return future

    def settle_rpc(self, rpc: int, answer: object) -> bool:
        """Hand an answer to its caller; False if nobody waits for it, as after a timeout."""
        with self._rt.region("Pump.Reply", self._lock, rpc=rpc):
            return _settle(self._rpcs.pop(rpc, None), answer)

    def abandon_rpc(self, rpc: int) -> None:
        """Forget a call whose caller has given up."""
        with self._rt.region("Dispatcher.Abandon", self._lock, rpc=rpc):
            self._rpcs.pop(rpc, None)

    def expect_batch(self, batch: str, outputs: Sequence[str]) -> None:
        """Register the split map of a batch: the ids of its outputs, in the order of its values.

        Adopts the batch if it has arrived already.

        Raises:
            OmniError: the table is closed; the error says why.

        Spec: DispatcherExpect
        """
        with self._rt.region("Dispatcher.Expect", self._lock, batch=batch):
            self._raise_if_closed()
            if batch in self._unsplit:
                self._split(outputs, self._unsplit.pop(batch))
            else:
                self._splits[batch] = tuple(outputs)

    def take_split(self, batch: str, values: object) -> None:
        """Split an arrived batch among its outputs, or hold it until `expect_batch` names them.

        Args:
            values: one value an output, or one error for all.

        Spec: PumpTakeSplit
        """
        with self._rt.region("Pump.TakeSplit", self._lock, batch=batch):
            outputs = self._splits.pop(batch, None)
            if outputs is None:
                self._unsplit[batch] = values
            else:
                self._split(outputs, values)

    def deliver(self, output: str, value: object) -> None:
        """Give an arrived output to its consumer, or cache it until `wait` asks for it.

        Args:
            value: the output, or the error that took its place.

        Spec: PumpDeliver
        """
        with self._rt.region("Pump.Deliver", self._lock, output=output):
            self._resolve_or_cache(output, value)

    def wait(self, output: str) -> Future[Any]:
        """Ask for an output: a future that is settled already if the output is here.

        Raises:
            UsageError: somebody waits for this output already.
            OmniError: the table is closed; the error says why.

        Spec: ConsumerWait
        """
        with self._rt.region("Consumer.Wait", self._lock, output=output):
            if output in self._waiting:
                raise UsageError(f"Output '{output}' already has a consumer. Ask for it once, and share the future.")
            future = self._rt.future()
            if output in self._cached:
                _settle(future, self._cached.pop(output))
            else:
                self._raise_if_closed()
                self._waiting[output] = future
            return future

    def drop(self, output: str) -> None:
        """Forget an output that nobody wants any more."""
        with self._rt.region("Consumer.Drop", self._lock, output=output):
            self._waiting.pop(output, None)
            self._cached.pop(output, None)

    def close(self, reason: OmniError) -> None:
        """Fail everything that is awaited, and every later wait, with ``reason``; cached outputs can still be taken."""
        with self._rt.region("Executor.Close", self._lock):
            self._closed = reason
            for future in (*self._rpcs.values(), *self._waiting.values()):
                fail(future, reason)
            for held in (self._rpcs, self._waiting, self._splits, self._unsplit):
                held.clear()

    def describe(self) -> Pending:
        """Tell what the table holds."""
        with self._rt.region("Executor.Describe", self._lock):
            return Pending(tuple(self._waiting), tuple(self._cached), tuple(self._unsplit), tuple(self._rpcs))

    def _split(self, outputs: Sequence[str], values: Any) -> None:
        """Called with the lock held."""
        if not isinstance(values, BaseException) and len(values) != len(outputs):
            values = PeerFailed(
                f"The worker returned {len(values)} outputs for a batch of {len(outputs)} requests. "
                "Let the pipeline's forward() return one output a request."
            )
        each = [values] * len(outputs) if isinstance(values, BaseException) else values
        for output, value in zip(outputs, each, strict=True):
            self._resolve_or_cache(output, value)

    def _resolve_or_cache(self, output: str, value: object) -> None:
        """Called with the lock held."""
        future = self._waiting.pop(output, None)
        if future is None:
            self._cached[output] = value
        else:
            _settle(future, value)

    def _raise_if_closed(self) -> None:
        if self._closed is not None:
            raise self._closed


def _settle(future: Future[Any] | None, value: object) -> bool:
    """Resolve or fail a future; False if there is none, or if its waiter has gone."""
    if future is None:
        return False
    return fail(future, value) if isinstance(value, BaseException) else resolve(future, value)


def _first(ids: Iterable[object], most: int = 5) -> str:
    ids = list(ids)
    return ", ".join(map(str, ids[:most])) + (", ..." if len(ids) > most else "")
