"""Defects of admission, of shutdown, and of configuration."""

from __future__ import annotations

from collections.abc import Callable

from omni_ipc.errors import OmniError
from omni_ipc.serving.core import EngineCore
from omni_ipc.serving.requests import Request
from omni_ipc.serving.results import RequestOutput
from omni_ipc.serving.scheduler import Scheduler
from omni_ipc.serving.streams import OutputStream
from omni_ipc.serving.timeouts import Limit, OutputTimeout


class DeferredAdmission(EngineCore):
    """Admits a request only when its output is first asked for."""

    def submit(self, request: Request) -> OutputStream:
        return _Generator(super().submit, request)


class _Generator(OutputStream):
    """The stream of a request that is admitted within it."""

    def __init__(self, submit: Callable[[Request], OutputStream], request: Request) -> None:
        self._submit = submit
        self._request = request

    def __del__(self) -> None:
        pass

    async def __anext__(self) -> RequestOutput:
        return await self._submit(self._request).output()

    def result(self) -> RequestOutput:
        return self._submit(self._request).result()


class ShutdownDiscardsDelivered(Scheduler):
    """Ends everything that is open at a shutdown, whether its output has come or not."""

    def close(self, error: OmniError) -> None:
        with self._rt.region("Engine.Close", self._guard):
            self._closed = self._closed or error
            for admission in [each for same in self._open.values() for each in same.values()]:
                self._end(admission, error)
            self._guard.notify_all()


class ShortOutputTimeout(OutputTimeout):
    """Waits for an output as long as somebody once found plenty: 30 s, whatever is set."""

    def resolve(self) -> Limit:
        return Limit(30.0, "nothing", "30")
