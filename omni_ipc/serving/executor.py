"""The executor: the engine's side of its workers. Calls go out to all, the pump brings answers and outputs back.

dispatcher ── execute, step, call ──► Executor ══ broadcast ══► worker of each rank
consumers  ◄─ futures ── OutputTable ◄── pump ◄═════════════════ answers of all, outputs of rank 0
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from omni_ipc.errors import OmniError, PeerError, ShutdownError, Timeout
from omni_ipc.seam.api import Future, Runtime, Task
from omni_ipc.serving.config import ServingConfig
from omni_ipc.serving.ids import Minted
from omni_ipc.serving.links import WorkerLink
from omni_ipc.serving.messages import Call, Command, Execute, Stop
from omni_ipc.serving.outputs import OutputTable
from omni_ipc.serving.pending import Pending, Tally
from omni_ipc.serving.pump import Computed, ResultPump
from omni_ipc.serving.requests import Request, detach_inputs
from omni_ipc.serving.timeouts import OutputTimeout
from omni_ipc.serving.waves import Wave


class Executed(NamedTuple):
    """A forward that is done.

    Args:
        outputs: the ids of its outputs, one a request; they are announced by themselves.
        execution_s: how long the slowest rank computed.
        stages: seconds of the model's stages, by their names.
    """

    outputs: tuple[str, ...]
    execution_s: float
    stages: Mapping[str, float] = {}


class Executor:
    """Sends work to all workers and hands the outputs to whoever asks for them.

    Args:
        table: where everything that is pending lives; shared with nobody but the pump.
        epoch: the incarnation of the engine, as the table has it.
        pump: the class of the result pump.
    """

    def __init__(
        self,
        *,
        rt: Runtime,
        link: WorkerLink,
        table: OutputTable,
        config: ServingConfig,
        epoch: int = 1,
        pump: type[ResultPump] = ResultPump,
    ) -> None:
        self._rt = rt
        self._link = link
        self._sending = rt.lock()  # the request lane has one writer at a time
        self._table = table
        self._config = config
        self._output_timeout = OutputTimeout(config)
        self._epoch = epoch
        self._pump = pump(rt=rt, link=link, table=table, poll_s=config.poll_s, end=table.close)
        self._rpcs = itertools.count(1)
        self._pumping: Task | None = None

    def start(self) -> None:
        """Start the result pump."""
        self._pumping = self._rt.spawn(self._pump.run, name="pump")

    def mint(self, requests: int) -> Minted:
        """Make the ids of what a call to `execute` will compute, for who must know them before.

        Raises:
            OmniError: the engine is shutting down, or has failed.
        """
        return self._table.mint() if requests == 1 else self._table.mint_batch(requests)

    def execute(self, requests: Sequence[Request], minted: Minted | None = None) -> Executed:
        """Have requests computed in one forward; returns when every rank says "compute done".

        The workers answer and announce the outputs on different threads, so that a batch may be here already when its
        split map is registered.

        Args:
            minted: from `mint`, else made here.

        Raises:
            PeerFailed: the pipeline raised; tells which ranks did.
            Timeout: no answer within ``rpc_timeout_s``.
            OmniError: a worker died, or the engine is shutting down. Whatever was raised, the outputs are given up.
        """
        minted = minted or self.mint(len(requests))
        bare, inputs = detach_inputs(requests)
        try:
            answers: list[Computed] = self._ask(
                lambda rpc: Execute(rpc, self._epoch, minted.output, bare, minted.split),
                " of " + ", ".join(request.id for request in bare),
                payload=inputs,
            )
            if minted.split:
                self._table.expect_batch(minted.output, minted.outputs)
        except OmniError as error:
            self._table.drop(minted.output, error)
            raise
        return Executed(minted.outputs, max(each.done.execution_s for each in answers), answers[0].done.stages)

    def wait(self, output: str) -> Future[Any]:
        """Ask for an output; give the future to `result`, or await it and `drop` what you give up.

        Raises:
            UsageError: it has a consumer, is settled, or was never minted.
            OmniError: the engine has shut down, or has failed.
        """
        return self._table.wait(output)

    def result(self, output: str, future: Future[Any]) -> Any:
        """Wait for an output that was asked for.

        Raises:
            Timeout: it did not come within the output timeout; tells what the table holds instead.
            OmniError: what took the output's place.
        """
        limit = self._output_timeout.resolve()
        try:
            return future.result(limit.seconds)
        except OmniError:
            raise
        except TimeoutError:
            late = Timeout(
                f"Output '{output}' did not come within {limit.seconds:g} s. Pending: {self.describe()}. {limit.remedy}"
            )
            self._table.drop(output, late)  # settles the future, unless it came at the last moment
            return future.result()

    def drop(self, output: str, reason: OmniError | None = None) -> bool:
        """Give up an output, or all of a batch; what comes of it from now on goes nowhere.

        Returns:
            Whether any of it was still open.
        """
        return self._table.drop(output, reason)

    def call(self, method: str, /, *, timeout_s: float | None = None, **arguments: Any) -> list[Any]:
        """Call a method of every worker: "sleep", "wake", or one that the pipeline declares.

        Args:
            timeout_s: ``rpc_timeout_s`` unless given.

        Returns:
            One value a rank.

        Raises:
            PeerFailed: it raised; tells at which ranks.
            Timeout: not every rank has answered in time.
            OmniError: a worker died, or the engine is shutting down.
        """
        return self._ask(lambda rpc: Call(rpc, self._epoch, method, arguments), f" of {method}()", timeout_s=timeout_s)

    def describe(self) -> Pending:
        """Tell what is pending."""
        return self._table.describe()

    def statistics(self) -> Tally:
        """Tell what became of everything so far."""
        return msgspec.structs.replace(self._table.tally(), bad_messages=self._pump.bad_messages)

    def shutdown(self) -> bool:
        """Stop the workers, take what they still announce, and fail whatever is pending after that; bounded in time.

        Returns:
            Whether the workers said goodbye on all their lanes within ``shutdown_timeout_s``.
        """
        goodbye = True
        self._pump.expect_end()
        with self._rt.region("Executor.Stop", self._sending):
            with contextlib.suppress(PeerError):  # nobody is left to be told
                self._link.requests.send(Stop())
                self._link.requests.close()
        if self._pumping is not None:
            self._pumping.join(self._config.shutdown_timeout_s)
            goodbye = not self._pumping.is_alive()
            self._link.results.close()
            self._pumping.join()
        self._table.close(ShutdownError("The engine has shut down. Start a new one for further work."))
        return goodbye

    def _ask(
        self, make: Callable[[int], Command], what: str, *, payload: Any = None, timeout_s: float | None = None
    ) -> list[Any]:
        """Send a command to every rank, and gather an answer from each."""
        rpc = next(self._rpcs)
        wave = self._table.expect_rpc(rpc, ranks=self._link.ranks)
        try:
            with self._rt.region("Dispatcher.Send", self._sending, rpc=rpc):
                self._link.requests.send(make(rpc), payload)
            self._await(wave, f"call {rpc}{what}", self._config.rpc_timeout_s if timeout_s is None else timeout_s)
        except BaseException:
            self._table.abandon_rpc(rpc)
            raise
        if wave.silent:  # one has failed, and the others may hang with it
            with contextlib.suppress(TimeoutError):
                wave.complete.result(self._config.rank_grace_s)
            self._table.abandon_rpc(rpc)
        return wave.gathered()

    def _await(self, wave: Wave, what: str, timeout_s: float) -> None:
        try:
            wave.decided.result(timeout_s)
        except OmniError:
            raise
        except TimeoutError:
            if not wave.decided.done():  # else it came at the last moment
                raise Timeout(
                    f"{wave.who_is_silent()} did not answer {what} within {timeout_s:g} s. "
                    f"Pending: {self.describe()}. If the work is merely slow, set rpc_timeout_s to a larger value."
                ) from None
