"""The pipeline of a soak without processes: an executor for engines whose clients check every byte."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from omni_ipc import trees
from omni_ipc.errors import OmniError, PeerFailed
from omni_ipc.serving.requests import Request
from omni_ipc.stress.late import Late
from omni_ipc.stress.pipeline import Varied
from tests.support.table_executor import Executed, Stepped, TableExecutor


class VariedExecutor(TableExecutor):
    """Computes what the requests of a soak ask for, each output at once."""

    def execute(self, requests: Sequence[Request]) -> Executed:
        minted = self.table.mint() if len(requests) == 1 else self.table.mint_batch(len(requests))
        values = self._values("forward", requests)
        for place, value in enumerate(values):
            if isinstance(value, OmniError):
                self.table.spoil(minted.outputs[place], value)
        self._computed.put((minted, values))
        if minted.split:
            self.table.expect_batch(minted.output, minted.outputs)
        return Executed(minted.outputs, execution_s=0.0)

    def step(self, requests: Sequence[Request]) -> Stepped:
        return Stepped(self._values("step", requests), execution_s=0.0)

    def start(self) -> None:
        self._pipeline = Varied(rt=self._rt)
        super().start()

    def _values(self, method: str, requests: Sequence[Request]) -> list[Any]:
        return [_on_host(value) for value in getattr(self._pipeline, method)(requests)]


def _on_host(value: Any) -> Any:
    """Give what a worker would have sent."""
    if isinstance(value, Exception):
        return PeerFailed(str(value))
    if value is not None and "value" not in value:
        return PeerFailed("An output cannot travel.")
    return trees.mapped(lambda leaf: leaf.seconds if isinstance(leaf, Late) else leaf, value)
