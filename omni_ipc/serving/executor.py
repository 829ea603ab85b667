"""The executor: the engine's side of its workers. Calls go out, the pump brings answers and outputs back."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Sequence
from typing import Any

from omni_ipc.errors import OmniError, PeerError, ShutdownError, Timeout
from omni_ipc.seam.api import Future, Runtime, Task
from omni_ipc.serving.config import ServingConfig
from omni_ipc.serving.links import Receiver, Sender
from omni_ipc.serving.messages import Execute, Reply, Request, Stop
from omni_ipc.serving.outputs import OutputTable
from omni_ipc.serving.pump import ResultPump


class Executor:
    """Sends batches to a worker and hands its outputs to whoever asks for them.

    Args:
        table: where everything that is pending lives; shared with nobody but the pump.
        pump: the class of the result pump.
        death: asked when nothing came for a while; the error to fail all pending work with once the worker is dead.
    """

    def __init__(
        self,
        *,
        rt: Runtime,
        requests: Sender[Request],
        results: Receiver[Reply],
        table: OutputTable,
        config: ServingConfig,
        pump: type[ResultPump] = ResultPump,
        death: Callable[[], OmniError | None] = lambda: None,
    ) -> None:
        self._rt = rt
        self._requests = requests
        self._results = results
        self._sending = rt.lock()  # the request lane has one writer at a time
        self._table = table
        self._config = config
        self._pump = pump(rt=rt, results=results, table=table, poll_s=config.poll_s, death=death)
        self._rpcs = itertools.count(1)
        self._pumping: Task | None = None

    def start(self) -> None:
        """Start the result pump."""
        self._pumping = self._rt.spawn(self._pump.run, name="pump")

    def execute(self, output: str, request: str) -> None:
        """Have one request computed; its output is announced by itself, as ``output``.

        Returns when the worker says "compute done".

        Raises:
            PeerFailed: the pipeline raised.
            Timeout: no answer within ``rpc_timeout_s``.
            OmniError: the worker died, or the engine is shutting down.
        """
        self._call(output, (request,), split=False)

    def execute_batch(self, batch: str, requests: Sequence[str]) -> tuple[str, ...]:
        """Have a batch computed in one forward; returns the ids of its outputs, one a request.

        The worker answers "compute done" and brings the batch's output on different threads, so the batch may be
        here already when its split map is registered.

        Raises:
            See `execute`.
        """
        outputs = tuple(f"{batch}/{request}" for request in requests)
        self._call(batch, tuple(requests), split=True)
        self._table.expect_batch(batch, outputs)
        return outputs

    def wait(self, output: str) -> Future[Any]:
        """Ask for an output; give the future to `result`."""
        return self._table.wait(output)

    def result(self, output: str, future: Future[Any]) -> Any:
        """Wait for an output that was asked for.

        Raises:
            Timeout: it did not come within ``output_timeout_s``; tells what the table holds instead.
            OmniError: what took the output's place.
        """
        return self._await(
            future,
            f"Output '{output}' did not come",
            limit=("output_timeout_s", self._config.output_timeout_s),
            forget=lambda: self._table.drop(output),
        )

    def shutdown(self) -> bool:
        """Stop the worker, take what it still announces, and fail whatever is pending after that; bounded in time.

        Returns:
            Whether the worker said goodbye on all its lanes within ``shutdown_timeout_s``.
        """
        goodbye = True
        self._pump.expect_end()
        with self._rt.region("Executor.Stop", self._sending):
            with contextlib.suppress(PeerError):  # nobody is left to be told
                self._requests.send(Stop())
                self._requests.close()
        if self._pumping is not None:
            self._pumping.join(self._config.shutdown_timeout_s)
            goodbye = not self._pumping.is_alive()
            self._results.close()
            self._pumping.join()
        self._table.close(ShutdownError("The engine has shut down. Start a new one for further work."))
        return goodbye

    def _call(self, output: str, requests: tuple[str, ...], *, split: bool) -> None:
        rpc = next(self._rpcs)
        answer = self._table.expect_rpc(rpc)
        with self._rt.region("Dispatcher.Send", self._sending, rpc=rpc):
            self._requests.send(Execute(rpc, output, requests, split))
        self._await(
            answer,
            f"The worker did not answer call {rpc} ({', '.join(requests)})",
            limit=("rpc_timeout_s", self._config.rpc_timeout_s),
            forget=lambda: self._table.abandon_rpc(rpc),
        )

    def _await(self, future: Future[Any], what: str, *, limit: tuple[str, float], forget: Callable[[], None]) -> Any:
        setting, timeout_s = limit
        try:
            return future.result(timeout_s)
        except OmniError:
            raise
        except TimeoutError:
            pending = self._table.describe()
            forget()  # from here on nobody can settle the future
            if future.done():
                return future.result()  # it came at the last moment
            raise Timeout(
                f"{what} within {timeout_s:g} s. Pending: {pending}. "
                f"If the work is merely slow, set {setting} to a larger value."
            ) from None
