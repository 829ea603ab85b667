"""The half of the output table that knows calls: which of them are awaited, and which rank owes an answer."""

from __future__ import annotations

from omni_ipc.errors import OmniError
from omni_ipc.seam.api import Runtime
from omni_ipc.serving.pending import Tally
from omni_ipc.serving.waves import Wave


class AnswerTable:
    """Calls without an answer; every method is one region.

    Args:
        epoch: the incarnation of the engine. Answers to another one are none of this table's.
    """

    def __init__(self, *, rt: Runtime, epoch: int) -> None:
        self._rt = rt
        self._epoch = epoch
        self._lock = rt.lock()
        # All guarded by _lock.
        self._rpcs: dict[int, Wave] = {}
        self._overdue: dict[int, int] = {}  # rank -> the call that it did not answer in time
        self._tally = Tally()
        self._closed: OmniError | None = None

    def expect_rpc(self, rpc: int, *, ranks: int = 1) -> Wave:
        """Register a call before it is sent, so that its answers find it.

        Raises:
            OmniError: the table is closed; the error says why.

        Spec: DispatcherCall
        """
        with self._rt.region("Dispatcher.Call", self._lock, rpc=rpc):
            self._raise_if_closed()
            wave = self._rpcs[rpc] = Wave(rt=self._rt, ranks=ranks)
            return wave

    def settle_rpc(self, rpc: int, answer: object, *, epoch: int = 1, rank: int = 0) -> bool:
        """Note a rank's answer to a call; False if nobody waits for it, as after a timeout.

        Spec: PumpReply
        """
        with self._rt.region("Pump.Reply", self._lock, rpc=rpc):
            self._overdue.pop(rank, None)
            asked = self._rpcs.get(rpc) if epoch == self._epoch else None
            if asked is None or not asked.take(rank, answer):
                self._tally.discarded_answers += 1
                return False
            if not asked.silent:
                del self._rpcs[rpc]
            return True

    def abandon_rpc(self, rpc: int) -> None:
        """Forget a call whose caller has given up: ranks that owe it an answer are overdue until they say anything.

        Spec: DispatcherAbandon
        """
        with self._rt.region("Dispatcher.Abandon", self._lock, rpc=rpc):
            wave = self._rpcs.pop(rpc, None)
            if wave is not None:
                self._overdue |= dict.fromkeys(wave.silent, rpc)

    def forget_rpc(self, rpc: int) -> None:
        """Forget a call that was never sent.

        Spec: DispatcherForget
        """
        with self._rt.region("Dispatcher.Forget", self._lock, rpc=rpc):
            self._rpcs.pop(rpc, None)

    def overdue(self) -> dict[int, int]:
        """Tell which ranks owe an answer, by the last call that was given up, and have said nothing since."""
        with self._rt.region("Executor.Overdue", self._lock):
            return dict(self._overdue)

    # From here on: called with the lock held.

    def _fail_rpcs(self, reason: OmniError) -> None:
        for wave in self._rpcs.values():
            wave.fail(reason)
        self._rpcs.clear()

    def _raise_if_closed(self) -> None:
        if self._closed is not None:
            raise self._closed.with_traceback(None)  # it would grow by each one that raises it
