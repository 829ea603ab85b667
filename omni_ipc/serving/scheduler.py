"""The scheduler: which requests are admitted, which are computed together, and how each of them ended.

    caller ──── admit, abort ──────────┐
    dispatcher ─ next_batch, settle ───┼─► Scheduler ─► Admission ─► OutputStream
    consumer ── deliver, end ──────────┘

What an output's fate hangs on meets in one critical section: whoever ends a request first decides its outcome, and an
output that is announced for a request that has ended is dropped there and then. Ownership is by admission, not by
request id: an id may be used again while an older request of that id is still open.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from omni_ipc.errors import Aborted, Full, OmniError, anew
from omni_ipc.seam.api import Future, Runtime
from omni_ipc.seam.futures import fail, resolve
from omni_ipc.serving.admission import Admission, Deserted
from omni_ipc.serving.requests import Request
from omni_ipc.serving.results import Computed, Outcome
from omni_ipc.serving.statistics import Statistics, Tally


class Outputs(Protocol):
    """Where outputs are asked for, and given up: the executor."""

    def wait(self, output: str) -> Future[Any]:
        """Ask for an output; its future may be cancelled by whoever asked."""

    def drop(self, output: str) -> object:
        """Forget an output, whether it is here, on its way, or awaited."""

    def describe(self) -> object:
        """Tell what is pending."""


class Scheduler:
    """Holds the requests that are open, in order of their admission; every method is one region.

    Args:
        outputs: where the output of a request that has ended is dropped.
        max_batch: requests that are computed together, at most.
        max_waiting: requests that may wait for their turn; beyond, `admit` refuses.
    """

    def __init__(self, *, rt: Runtime, outputs: Outputs, max_batch: int, max_waiting: int) -> None:
        self._rt = rt
        self._outputs = outputs
        self._max_batch = max_batch
        self._max_waiting = max_waiting
        self._guard = rt.condition()
        # All guarded by _guard; a number is in _waiting only while it is in _open.
        self._numbers = itertools.count(1)
        self._open: dict[str, dict[int, Admission]] = {}
        self._waiting: dict[int, Admission] = {}
        self._closed: OmniError | None = None
        self._tally = Tally()
        self._deserted = Deserted()
        rt.watch(self._deserted, None, name="Scheduler.deserted")
        rt.watch(self, self._guard, name="Scheduler")

    def admit(self, request: Request) -> Admission:
        """Take a request in, or refuse it: now, and not when its output is asked for.

        Raises:
            Full: too many requests wait.
            OmniError: the scheduler is closed; the error says why.

        Spec: EngineAdmit
        """
        with self._rt.region("Engine.Admit", self._guard, request=request.id):
            self._end_deserted()
            if self._closed is not None:
                raise anew(self._closed)
            if len(self._waiting) >= self._max_waiting:
                raise Full(
                    f"Request '{request.id}' was not admitted: {len(self._waiting)} requests wait already. "
                    "Retry when some are done, or set max_waiting to a larger value."
                )
            admission = Admission(request, next(self._numbers), self._rt.future())
            self._open.setdefault(request.id, {})[admission.number] = admission
            self._waiting[admission.number] = admission
            self._tally.admitted += 1
            self._guard.notify()
            return admission

    def next_batch(self, running: Sequence[Admission] = (), *, look_s: float) -> Sequence[Admission] | None:
        """Take requests that are to be computed together: those of ``running`` that are still open, and some that wait.

        Waits until there are any.

        Args:
            look_s: how often to look for streams that were deleted, while any is open.

        Returns:
            ``max_batch`` requests at most; None once the scheduler is closed.
        """
        while (batch := self._take(running, look_s)) == ():
            pass
        return batch

    def settle(self, settled: Sequence[tuple[Admission, Computed | OmniError]], *, batch_s: float = 0.0) -> None:
        """Tell requests that they are computed, or failed; drop the outputs of those that have ended meanwhile.

        Args:
            batch_s: how long it took to compute them.

        Spec: DispatcherSettle
        """
        with self._rt.region("Dispatcher.Settle", self._guard):
            self._tally.batches += 1
            self._tally.execution_s += batch_s
            self._end_deserted()
            for admission, what in settled:
                if isinstance(what, OmniError):
                    self._end(admission, what)
                elif admission.outcome is None:
                    admission.output = what.output
                    resolve(admission.computed, what)
                elif what.output is not None:
                    self._outputs.drop(what.output)

    def deliver(self, admission: Admission, waited_s: float) -> OmniError | None:
        """Let a request end with its result, unless it has ended; returns what it has ended with instead.

        Spec: StreamDeliver
        """
        with self._rt.region("Stream.Deliver", self._guard, number=admission.number):
            if admission.outcome is None:
                self._close_books(admission, Outcome.RESULT)
                self._tally.output_ready_wait_s += waited_s
            return admission.error

    def end(self, admission: Admission, error: OmniError) -> OmniError | None:
        """Let a request end without a result, unless it has ended; returns what it has ended with.

        Spec: StreamEnd
        """
        with self._rt.region("Stream.End", self._guard, number=admission.number):
            self._end(admission, error)
            return admission.error

    def desert(self, admission: Admission) -> None:
        """Note that the stream of a request was deleted; may be called by destructors, and takes no lock.

        Spec: StreamDesert
        """
        with self._rt.region("Stream.Desert", None, number=admission.number):
            self._deserted.admissions.append(admission)

    def abort(self, request_ids: Iterable[str]) -> int:
        """End all open requests of these ids, whether they wait, are computed, or have an output that nobody took.

        Returns:
            How many there were.

        Spec: EngineAbort
        """
        with self._rt.region("Engine.Abort", self._guard):
            aborted = [each for name in request_ids for each in self._open.get(name, {}).values()]
            for admission in aborted:
                self._end(
                    admission, Aborted(f"Request '{admission.request.id}' was aborted. Submit it anew if need be.")
                )
            return len(aborted)

    def close(self, error: OmniError) -> None:
        """Admit nothing more, and end what waits; what is being computed, or was, is left to its consumer.

        Spec: EngineClose
        """
        with self._rt.region("Engine.Close", self._guard):
            self._end_deserted()
            self._closed = self._closed or error
            for admission in [*self._waiting.values()]:
                self._end(admission, error)
            self._guard.notify_all()

    def check_open(self) -> None:
        """Raise what the scheduler was closed for, if it was."""
        with self._rt.region("Engine.CheckOpen", self._guard):
            if self._closed is not None:
                raise anew(self._closed)

    def abandon(self, error: OmniError) -> None:
        """End all that is not computed yet, as nobody will do it any more.

        Spec: DispatcherLeave
        """
        with self._rt.region("Dispatcher.Leave", self._guard):
            for admission in [each for same in self._open.values() for each in same.values()]:
                if not admission.computed.done():
                    self._end(admission, error)

    def statistics(self) -> Statistics:
        """Count what was done so far.

        Spec: EngineStatistics
        """
        with self._rt.region("Engine.Statistics", self._guard):
            self._end_deserted()
            return self._tally.freeze(waiting=len(self._waiting))

    def _take(self, running: Sequence[Admission], look_s: float) -> Sequence[Admission] | None:
        """Take what is to be computed, or wait once, and give nothing: whoever wakes looks anew, in a step of its own.

        Spec: DispatcherTake
        """
        with self._rt.region("Dispatcher.Take", self._guard):
            self._end_deserted()
            if self._closed is not None:
                return None
            batch = [admission for admission in running if admission.outcome is None]
            chosen = [*itertools.islice(self._waiting, self._max_batch - len(batch))]
            batch += [self._waiting.pop(number) for number in chosen]
            if not batch:
                self._guard.wait(look_s if self._open else None)
            return batch or ()

    def _end_deserted(self) -> None:
        deserted = self._deserted.admissions
        while deserted:
            admission = deserted.popleft()
            self._end(admission, Aborted(f"The stream of request '{admission.request.id}' was deleted."))

    def _end(self, admission: Admission, error: OmniError) -> None:
        if admission.outcome is not None:
            return
        admission.error = anew(error)  # which is kept, and never raised itself
        self._close_books(admission, Outcome.of(error))
        fail(admission.computed, admission.error)
        if admission.output is not None:
            self._outputs.drop(admission.output)

    def _close_books(self, admission: Admission, outcome: Outcome) -> None:
        admission.outcome = outcome
        self._tally.ended[outcome] += 1
        self._waiting.pop(admission.number, None)
        same = self._open[admission.request.id]
        del same[admission.number]
        if not same:
            del self._open[admission.request.id]
