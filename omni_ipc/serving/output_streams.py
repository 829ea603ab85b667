"""The outputs of several requests, one after another: the layer over streams that a caller iterates."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from types import TracebackType

from omni_ipc.serving.results import RequestOutput
from omni_ipc.serving.streams import OutputStream


class OutputStreams:
    """An asynchronous iterator over the outputs of requests, in order of the requests.

    Whatever ends the iteration closes all streams that are left: an error, a cancellation, `aclose`, the end of an
    ``async with``, and the deletion of the iterator, even of one that was never iterated.
    """

    def __init__(self, streams: Iterable[OutputStream]) -> None:
        self._streams = deque(streams)

    def __aiter__(self) -> OutputStreams:
        return self

    async def __anext__(self) -> RequestOutput:
        if not self._streams:
            raise StopAsyncIteration
        try:
            output = await self._streams[0].output()
        except BaseException:  # cancelled, too
            self.close()
            raise
        self._streams.popleft()
        return output

    def close(self) -> None:
        """Close the streams that are left; idempotent."""
        while self._streams:
            self._streams.popleft().close()

    async def aclose(self) -> None:
        """Close the streams that are left; for `contextlib.aclosing`."""
        self.close()

    async def __aenter__(self) -> OutputStreams:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
