"""What an engine has done so far, in numbers."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from omni_ipc.serving.results import Outcome


class Statistics(msgspec.Struct, frozen=True, kw_only=True):
    """Counts since the engine was started. Requests that were admitted have ended, or are open.

    Args:
        waiting: of the open requests, those that are not being computed yet.
        execution_s: of all batches; waits for outputs are not in it.
        output_ready_wait_s: what consumers waited for outputs whose forward was done.
    """

    admitted: int
    ended: Mapping[Outcome, int]
    open: int
    waiting: int
    batches: int
    execution_s: float
    output_ready_wait_s: float


class Tally:
    """The same, while it is being counted; guarded by whoever has it."""

    def __init__(self) -> None:
        self.admitted = 0
        self.ended = dict.fromkeys(Outcome, 0)
        self.batches = 0
        self.execution_s = 0.0
        self.output_ready_wait_s = 0.0

    def freeze(self, *, waiting: int) -> Statistics:
        """Give the counts as they stand."""
        ended = dict(self.ended)
        return Statistics(
            admitted=self.admitted,
            ended=ended,
            open=self.admitted - sum(ended.values()),
            waiting=waiting,
            batches=self.batches,
            execution_s=self.execution_s,
            output_ready_wait_s=self.output_ready_wait_s,
        )
