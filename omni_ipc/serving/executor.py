"""The executor: the engine's side of its workers. Calls go out to all, the pump brings answers and outputs back.

dispatcher ── execute, step, call ──► Executor ══ broadcast ══► worker of each rank
consumers  ◄─ futures ── OutputTable ◄── pump ◄═════════════════ answers of all, outputs of rank 0
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from omni_ipc.errors import OmniError, PeerClosed, ShutdownError, Timeout
from omni_ipc.seam.api import Future, Runtime
from omni_ipc.serving.caller import Caller
from omni_ipc.serving.computed import Computed, Executed, Stepped, errors_of, slowest, with_errors
from omni_ipc.serving.config import ServingConfig, require_time
from omni_ipc.serving.health import Health, OnFailure
from omni_ipc.serving.ids import Minted
from omni_ipc.serving.links import WorkerLink
from omni_ipc.serving.messages import Call, Execute, callable_as
from omni_ipc.serving.outputs import OutputTable
from omni_ipc.serving.pending import Pending, Tally
from omni_ipc.serving.pump import ResultPump
from omni_ipc.serving.pumping import InlinePump, Pumping, PumpTask
from omni_ipc.serving.requests import Request, detach_inputs
from omni_ipc.serving.timeouts import OutputTimeout


class Executor:
    """Sends work to all workers and hands the outputs to whoever asks for them.

    Args:
        table: where everything that is pending lives; shared with nobody but the pump.
        epoch: the incarnation of the engine, as the table has it.
        pump: the class of the result pump.
        output_timeout: of `result`; that of ``config`` unless given.
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
        output_timeout: OutputTimeout | None = None,
    ) -> None:
        self._link = link
        self._table = table
        self._config = config
        self._output_timeout = output_timeout or OutputTimeout(config)
        self._epoch = epoch
        self._health = Health(rt=rt)
        self._pump = pump(rt=rt, link=link, table=table, poll_s=config.poll_s, end=self._end)
        kind = InlinePump if config.step_execution else PumpTask
        self._pumping: Pumping = kind(rt=rt, pump=self._pump, config=config)
        self._goodbye: bool | None = None  # once the executor was shut down
        self._caller = Caller(rt=rt, link=link, table=table, config=config, pumping=self._pumping)

    def start(self) -> None:
        """Start the result pump; in step execution there is none to start."""
        self._pumping.start()

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
            answers: list[Computed] = self._caller.ask(
                lambda rpc: Execute(rpc, self._epoch, minted.output, bare, minted.split),
                _of(bare),
                payload=inputs,
            )
            for place, error in errors_of(answers).items():
                self._table.spoil(minted.outputs[place], error)
            if minted.split:
                self._table.expect_batch(minted.output, minted.outputs)
        except OmniError as error:
            self._table.drop(minted.output, error)
            raise
        return Executed(minted.outputs, slowest(answers), answers[0].done.stages)

    def step(self, requests: Sequence[Request]) -> Stepped:
        """Do one step of each request; in step execution only, and by one task at a time.

        Raises:
            See `execute`.
        """
        bare, inputs = detach_inputs(requests)
        answers: list[Computed] = self._caller.ask(
            lambda rpc: Execute(rpc, self._epoch, "", bare, split=True, step=True), _of(bare), payload=inputs
        )
        values = answers[0].values
        if isinstance(values, OmniError):
            raise values
        return Stepped(with_errors(values, errors_of(answers)), slowest(answers), answers[0].done.stages)

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
            self._table.drop(output, late)
            if future.done():  # with that error, unless it came at the last moment
                return future.result()
            raise late from None

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
            UsageError: the arguments cannot travel.
            OmniError: a worker died, or the engine is shutting down.
        """
        call = callable_as(Call(0, self._epoch, method, arguments))
        if timeout_s is not None:
            require_time("timeout_s", timeout_s)
        return self._caller.ask(
            lambda rpc: msgspec.structs.replace(call, rpc=rpc), f" of {method}()", timeout_s=timeout_s
        )

    def describe(self) -> Pending:
        """Tell what is pending."""
        return self._table.describe()

    def statistics(self) -> Tally:
        """Tell what became of everything so far."""
        return msgspec.structs.replace(self._table.tally(), bad_messages=self._pump.bad_messages)

    def on_failure(self, callback: OnFailure) -> None:
        """Have a function called when a worker or the pump dies, with the error, once whatever was pending has failed.

        It is called exactly once, from whichever task notes the failure; at once, if there was one already. A shutdown
        is no failure.
        """
        self._health.on_failure(callback)

    def check_health(self) -> None:
        """See whether work can be done.

        Raises:
            OmniError: a worker or the pump is dead or stuck, or the engine has shut down; says which, and what to do.
        """
        for wrong in (self._health.failure(), self._pump.death(), self._pump.ended):
            if wrong is not None:
                raise wrong.with_traceback(None)
        self._pumping.check()
        for rank in range(self._link.ranks):
            if (stopped := self._link.stopped(rank)) is not None:
                raise stopped
        for rank, rpc in self._table.overdue().items():
            raise Timeout(
                f"The worker of rank {rank} is stuck: it has not answered call {rpc} in time, and has said nothing "
                "since. Look at what it does: py-spy dump; or shut down, and start a new engine."
            )

    def look(self) -> None:
        """Fail whatever is pending if answers cannot arrive any more; for a monitor, to be called every ``poll_s``."""
        self._pumping.look()
        try:
            self._pumping.check()
        except OmniError as error:
            self._end(error)

    def shutdown(self) -> bool:
        """Stop the workers, take what they still announce, and fail whatever is pending after that; bounded in time.

        New calls, and new waits for what is not here, fail from the beginning on; nothing is pending at the end. Doing
        it again does no harm.

        Returns:
            Whether the workers said goodbye on all their lanes within ``shutdown_timeout_s``.
        """
        over = ShutdownError("The engine has shut down. Start a new one for further work.")
        self._table.refuse(over)
        self._pump.expect_end()
        if self._caller.stop():
            self._pumping.finish(self._config.shutdown_timeout_s)
        if self._goodbye is None:
            self._goodbye = isinstance(self._pump.ended, ShutdownError | PeerClosed)
        self._link.results.close()
        self._pumping.finish(self._config.shutdown_timeout_s)
        self._table.close(over)
        return self._goodbye

    def await_senders(self, timeout_s: float) -> bool:
        """Wait, behind a shutdown, until nobody uses the request lanes any more, and they can be given back."""
        return self._caller.await_senders(timeout_s)

    def _end(self, reason: OmniError) -> None:
        """Leave nothing pending; what is no shutdown is a failure."""
        self._table.close(reason)
        if not isinstance(reason, ShutdownError):
            self._health.fail(reason)


def _of(requests: Sequence[Request]) -> str:
    return f" of {', '.join(request.id for request in requests)}"
