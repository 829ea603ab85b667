"""Output streams: what a consumer holds of an admitted request.

    submit() ─► OutputStream ── output(), async for, result() ─► RequestOutput, or the error that took its place
                     │
                     └─ close(), aclose(), `async with`, deletion: nobody wants it any more; its output is dropped

A stream asks for its output once its forward is done, and waits for it itself: no other place holds what was not taken.
"""

from __future__ import annotations

import itertools
from types import TracebackType
from typing import Any, TypeVar

from omni_ipc.errors import Aborted, OmniError, Timeout, UsageError, anew
from omni_ipc.seam.api import Future, Runtime
from omni_ipc.serving.admission import Admission
from omni_ipc.serving.results import Computed, RequestOutput
from omni_ipc.serving.scheduler import Outputs, Scheduler
from omni_ipc.serving.timeouts import OutputTimeout
from omni_ipc.serving.waiting import Account, Wait, follow, follow_blocking

T = TypeVar("T")


class OutputStream:
    """The output of one request, to be taken once; an asynchronous iterator of one item.

    Whoever is cancelled while it takes the output has closed the stream. It may be taken, closed and deleted by any
    thread and in any event loop.
    """

    def __init__(
        self, *, rt: Runtime, admission: Admission, scheduler: Scheduler, outputs: Outputs, timeout: OutputTimeout
    ) -> None:
        self._rt = rt
        self._admission = admission
        self._scheduler = scheduler
        self._outputs = outputs
        self._timeout = timeout
        self._takes = itertools.count()  # next() of it is atomic: of two threads that take, one is refused
        self._taken = False
        self._over = False  # nothing can be left of it

    def __del__(self) -> None:
        if self._over:
            return
        try:
            self._scheduler.desert(self._admission)
        except BaseException:  # whatever ends a task just here ends it at its next step, too; a destructor cannot raise
            return

    @property
    def request_id(self) -> str:
        """The client's name of the request."""
        return self._admission.request.id

    async def output(self) -> RequestOutput:
        """Take the output, once it is here.

        Raises:
            Aborted: the request was aborted, or its stream was closed.
            Timeout: it was not computed, or did not come, in time; says which setting to set.
            ShutdownError: the engine was shut down before.
            PeerError: the worker failed, or died.
            UsageError: it was asked for before.
        """
        account = self._take()
        try:
            return await follow(account)
        except BaseException:  # cancelled, too
            self.close()
            raise

    def result(self) -> RequestOutput:
        """Take the output, and block until it is here.

        Raises:
            See `output`.
        """
        account = self._take()
        try:
            return follow_blocking(account)
        except BaseException:  # interrupted, too
            self.close()
            raise

    def close(self) -> None:
        """Give the output up, if it was not taken; idempotent."""
        if self._over:
            return
        self._scheduler.end(self._admission, Aborted(f"The stream of request '{self.request_id}' was closed."))
        self._over = True

    async def aclose(self) -> None:
        """Give the output up, if it was not taken; for `contextlib.aclosing`."""
        self.close()

    def __aiter__(self) -> OutputStream:
        return self

    async def __anext__(self) -> RequestOutput:
        if self._taken:
            raise StopAsyncIteration
        return await self.output()

    async def __aenter__(self) -> OutputStream:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _take(self) -> Account[RequestOutput]:
        if next(self._takes):
            raise UsageError(
                f"The output of request '{self.request_id}' was asked for before. Take it once, and share what you got."
            )
        self._taken = True
        return self._deliver()

    def _deliver(self) -> Account[RequestOutput]:
        admission = self._admission
        yield Wait(admission.computed)
        try:
            computed = _settled(admission.computed)
            value, waited_s = yield from self._materialise(computed)
        except OmniError as error:
            raise self._failed(error) from None
        ended = self._scheduler.deliver(admission, waited_s)
        self._over = True
        if ended is not None:
            del value  # whoever keeps the error keeps this frame
            raise anew(ended)
        return self._assemble(computed, value, waited_s)

    def _failed(self, error: OmniError) -> OmniError:
        """End the request with an error, unless it has ended; gives what to raise, in a frame that does not keep it."""
        wrong = self._scheduler.end(self._admission, error) or error
        self._over = True
        return anew(wrong)

    def _materialise(self, computed: Computed) -> Account[tuple[Any, float]]:
        """Ask for the output, and wait for it; tells how long that took."""
        if computed.output is None:
            return computed.value, 0.0
        limit = self._timeout.resolve()
        began_s = self._rt.now()
        future = self._outputs.wait(computed.output)
        yield Wait(future, limit.seconds)
        if future.cancel():  # else it came at the last moment
            raise Timeout(
                f"Output '{computed.output}' of request '{self.request_id}' did not come within {limit.seconds:g} s. "
                f"Pending: {self._outputs.describe()}. {limit.remedy}"
            )
        return _settled(future), self._rt.now() - began_s

    def _assemble(self, computed: Computed, value: Any, waited_s: float) -> RequestOutput:
        return RequestOutput(
            request_id=self.request_id,
            value=value,
            execution_time_s=computed.execution_s,
            output_ready_wait_time_s=waited_s,
            stage_durations_s=computed.stages,
        )


def _settled(future: Future[T]) -> T:
    """Give the result of a settled future, or raise its error; not that which the future keeps."""
    if (error := future.exception()) is not None:
        raise anew(error)
    return future.result()
