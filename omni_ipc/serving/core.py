"""The engine without its processes: admission, dispatching, streams and shutdown over one executor.

submit ─► Scheduler ─► "dispatcher" ─► Executor ─► workers
             │                            │
             └────► OutputStream ◄── outputs
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import Callable
from types import TracebackType
from typing import Any, Protocol, Self, cast

import msgspec

from omni_ipc.errors import OmniError, ShutdownError
from omni_ipc.seam.api import Future, Runtime, Task
from omni_ipc.seam.futures import fail, resolve
from omni_ipc.serving.dispatcher import Computing, Dispatcher, StepDispatcher
from omni_ipc.serving.engine_config import EngineConfig
from omni_ipc.serving.output_streams import OutputStreams
from omni_ipc.serving.outputs import OutputTable
from omni_ipc.serving.pump import ResultPump
from omni_ipc.serving.requests import Request, admissible
from omni_ipc.serving.results import RequestOutput
from omni_ipc.serving.scheduler import Outputs, Scheduler
from omni_ipc.serving.statistics import Statistics
from omni_ipc.serving.streams import OutputStream
from omni_ipc.serving.timeouts import OutputTimeout
from omni_ipc.serving.worker import Worker


class Executing(Computing, Outputs, Protocol):
    """What an engine asks of its executor."""

    def start(self) -> None: ...
    def call(self, method: str, /, *, timeout_s: float | None = None, **arguments: Any) -> list[Any]: ...
    def on_failure(self, callback: Callable[[OmniError], object]) -> None: ...
    def check_health(self) -> None: ...
    def shutdown(self) -> bool: ...


class EngineParts(msgspec.Struct, frozen=True):
    """The classes that an engine is built of; a subclass of each may take its place.

    Args:
        table, pump, worker: of an `Engine`, which makes its executor and its workers itself.
    """

    scheduler: type[Scheduler] = Scheduler
    stream: type[OutputStream] = OutputStream
    streams: type[OutputStreams] = OutputStreams
    timeout: type[OutputTimeout] = OutputTimeout
    table: type[OutputTable] = OutputTable
    pump: type[ResultPump] = ResultPump
    worker: type[Worker] = Worker


class Described(msgspec.Struct, frozen=True):
    """What an engine holds.

    Args:
        waiting: admitted requests that wait for their turn.
        open: admitted requests that have not ended.
        executor: what it has pending.
    """

    waiting: int
    open: int
    executor: object


class EngineCore:
    """Serves requests; any thread and any event loop may call it. A context manager, of both kinds."""

    def __init__(
        self, *, rt: Runtime, executor: Executing, config: EngineConfig, parts: EngineParts | None = None
    ) -> None:
        parts = parts or EngineParts()
        self._rt = rt
        self._executor = executor
        self._config = config
        self._parts = parts
        self._timeout = parts.timeout(config)
        self._scheduler = parts.scheduler(
            rt=rt, outputs=executor, max_batch=config.max_batch, max_waiting=config.max_waiting
        )
        kind = StepDispatcher if config.step_execution else Dispatcher
        self._dispatcher = kind(executor=executor, scheduler=self._scheduler, look_s=config.poll_s)
        self._stopping = rt.lock()
        self._goodbye: bool | None = None  # once it was shut down; guarded by _stopping
        self._shutdowns = itertools.count()  # asked for so far: each in a task of its own, which has a name of its own
        executor.on_failure(self._scheduler.close)
        executor.start()
        self._dispatching: Task = rt.spawn(self._dispatcher.run, name="dispatcher")

    def submit(self, request: Request) -> OutputStream:
        """Admit a request, or refuse it, at once.

        Returns:
            Where its output comes; whoever lets it go has given the output up.

        Raises:
            UsageError: it is no request, or holds what cannot travel.
            Full: too many requests wait.
            ShutdownError: the engine is shutting down.
            PeerError: a worker has died, or failed.
        """
        return self._parts.stream(
            rt=self._rt,
            admission=self._scheduler.admit(admissible(request)),
            scheduler=self._scheduler,
            outputs=self._executor,
            timeout=self._timeout,
        )

    def stream(self, *requests: Request) -> OutputStreams:
        """Admit all these requests, or none, at once; gives their outputs in order, as an asynchronous iterator.

        Raises:
            See `submit`.
        """
        with contextlib.ExitStack() as admitted:
            streams = [admitted.enter_context(contextlib.closing(self.submit(request))) for request in requests]
            admitted.pop_all()
        return self._parts.streams(streams)

    def generate(self, request: Request) -> RequestOutput:
        """Serve a request, and block until its output is here.

        Raises:
            See `submit` and `OutputStream.output`.
        """
        return self.submit(request).result()

    def abort(self, *request_ids: str) -> int:
        """End the open requests of these ids, all of each; tells how many there were."""
        return self._scheduler.abort(request_ids)

    def call(self, method: str, /, *, timeout_s: float | None = None, **arguments: Any) -> list[Any]:
        """Call a method of the pipeline on every worker, by its name; gives one value a rank.

        Raises:
            PeerFailed: it raised, or there is no such method to be called.
            Timeout: some worker did not answer within ``timeout_s``.
        """
        return self._executor.call(method, timeout_s=timeout_s, **arguments)

    def sleep(self, level: int = 1) -> None:
        """Let the workers give their device memory back, once no output is on its way to the host.

        Args:
            level: 1 keeps the weights on the host, 2 drops them.

        Raises:
            PeerFailed: a worker refused; says why, and whether its memory is as it was.
        """
        self.call("sleep", level=level)

    def wake(self) -> None:
        """Let the workers take device memory again; one that is awake stays so."""
        self.call("wake")

    def check_health(self) -> None:
        """Raise what keeps the engine from serving, if anything does.

        Raises:
            OmniError: a worker, or a part of the engine, is dead or stuck; or it was shut down.
        """
        self._scheduler.check_open()
        self._executor.check_health()

    def describe(self) -> Described:
        """Tell what is pending."""
        statistics = self.statistics()
        return Described(statistics.waiting, statistics.open, self._executor.describe())

    def statistics(self) -> Statistics:
        """Count what was done so far."""
        return self._scheduler.statistics()

    def shutdown(self) -> bool:
        """End the engine, within about three times ``shutdown_timeout_s``; idempotent.

        What has arrived stays with its stream, and can still be taken; what has not ends with `ShutdownError`, also if
        it is computed and its consumer asks for it only now.

        Returns:
            Whether the workers said goodbye.
        """
        return self._shut_down()

    def _shut_down(self) -> bool:
        self._scheduler.close(ShutdownError("The engine is shutting down. Start a new one for further work."))
        with self._stopping:
            if self._goodbye is None:
                self._goodbye = self._stop()
            return self._goodbye

    def _stop(self) -> bool:
        self._dispatching.join(self._config.shutdown_timeout_s)  # its batch may still be computed
        goodbye = self._executor.shutdown()
        self._dispatching.join()
        return goodbye

    async def aclose(self) -> None:
        """Shut down, while the event loop goes on."""
        await asyncio.wrap_future(cast("Any", self._begin_shutdown()))

    def _begin_shutdown(self) -> Future[bool]:
        """Shut down in a task of its own."""
        ended: Future[bool] = self._rt.future()
        again = next(self._shutdowns)
        self._rt.spawn(self._shut_down_into, ended, name=f"shutdown {again}" if again else "shutdown")
        return ended

    def _shut_down_into(self, ended: Future[bool]) -> None:
        try:
            resolve(ended, self._shut_down())
        except BaseException as error:
            fail(ended, error)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.shutdown()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
