"""Calls to all workers: a number for each, one sender at a time, and the wait until every rank has answered."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable
from typing import Any

from omni_ipc.errors import Full, OmniError, PeerError, ShutdownError, Timeout
from omni_ipc.seam.api import Runtime
from omni_ipc.serving.config import ServingConfig
from omni_ipc.serving.links import WorkerLink
from omni_ipc.serving.messages import Command, Stop
from omni_ipc.serving.outputs import OutputTable
from omni_ipc.serving.pumping import Pumping
from omni_ipc.serving.waves import Wave


class Caller:
    """The one writer of the request lanes.

    Args:
        pumping: by which answers come.
    """

    def __init__(
        self, *, rt: Runtime, link: WorkerLink, table: OutputTable, config: ServingConfig, pumping: Pumping
    ) -> None:
        self._rt = rt
        self._link = link
        self._table = table
        self._config = config
        self._pumping = pumping
        self._sending = rt.lock()  # the request lane has one writer at a time
        self._stopping = False  # one store; whoever gets the lock behind it sends nothing
        self._told = False  # guarded by _sending
        self._rpcs = itertools.count(1)

    def ask(
        self, make: Callable[[int], Command], what: str, *, payload: Any = None, timeout_s: float | None = None
    ) -> list[Any]:
        """Send a command to every rank, and gather an answer from each.

        Args:
            make: the command, given the number of its call.
            what: that is called, for messages.
            payload: what travels beside the command.
            timeout_s: ``rpc_timeout_s`` unless given.

        Raises:
            See `Executor.call`.
        """
        rpc = next(self._rpcs)
        wave = self._table.expect_rpc(rpc, ranks=self._link.ranks)
        self._send(rpc, make(rpc), payload)
        try:
            self._await(wave, rpc, what, self._config.rpc_timeout_s if timeout_s is None else timeout_s)
        except BaseException:
            self._table.abandon_rpc(rpc)
            raise
        if wave.silent:  # one has failed, and the others may hang with it
            with contextlib.suppress(TimeoutError):
                self._pumping.wait(wave.complete, self._config.rank_grace_s)
            self._table.abandon_rpc(rpc)
        return wave.gathered()

    def stop(self) -> bool:
        """Tell the workers to stop, once; False if that could not be done in time. No call is sent from then on.

        Spec: ExecutorStop
        """
        self._stopping = True
        if not self._sending.acquire(timeout=self._config.shutdown_timeout_s):
            return False
        try:
            if not self._told:
                self._told = True
                with self._rt.region("Executor.Stop"), contextlib.suppress(PeerError):  # nobody is left to be told
                    self._link.requests.send(Stop())
                    self._link.requests.close()
        except Full:
            return False
        finally:
            self._sending.release()
        return True

    def await_senders(self, timeout_s: float) -> bool:
        """Wait, behind `stop`, until nobody sends; tells whether that was so in time."""
        if not self._sending.acquire(timeout=timeout_s):
            return False
        self._sending.release()
        return True

    def _send(self, rpc: int, command: Command, payload: Any) -> None:
        """Send a command, unless none is sent any more.

        Spec: DispatcherSend
        """
        try:
            with self._rt.region("Dispatcher.Send", self._sending, rpc=rpc):
                if self._stopping:
                    raise ShutdownError("The engine is shutting down, and takes no more calls. Start a new one.")
                self._link.requests.send(command, payload)
        except BaseException:
            self._table.forget_rpc(rpc)
            raise

    def _await(self, wave: Wave, rpc: int, what: str, timeout_s: float) -> None:
        """Wait until it is decided how the call ends, or the time is up.

        Spec: DispatcherWake
        """
        with contextlib.suppress(OmniError, TimeoutError):  # whatever came, comes again below
            self._pumping.wait(wave.decided, timeout_s)
        with self._rt.region("Dispatcher.Wake", rpc=rpc):
            is_decided = wave.decided.done()  # also by what came at the last moment
        if not is_decided:
            raise Timeout(
                f"{wave.who_is_silent()} did not answer call {rpc}{what} within {timeout_s:g} s. "
                f"Pending: {self._table.describe()}. "
                "If the work is merely slow, set rpc_timeout_s to a larger value."
            )
        wave.decided.result()
