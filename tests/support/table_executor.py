"""An executor without workers: over a real output table, with a pump of its own. Values are the requests' ids."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from omni_ipc.errors import OmniError, ShutdownError
from omni_ipc.seam.api import Event, Queue, Runtime
from omni_ipc.serving.core import EngineCore, EngineParts
from omni_ipc.serving.engine_config import EngineConfig
from omni_ipc.serving.ids import Minted
from omni_ipc.serving.outputs import OutputTable
from omni_ipc.serving.pending import Pending
from omni_ipc.serving.requests import Request

EXECUTION_S = 2.0
STAGES = {"denoise": 1.5}
CONFIG = EngineConfig(output_timeout_s=1.0, drain_timeout_s=0.5, shutdown_timeout_s=1.0, poll_s=0.1)


class Executed(NamedTuple):
    outputs: Sequence[str]
    execution_s: float = EXECUTION_S
    stages: dict[str, float] = STAGES


class Stepped(NamedTuple):
    values: Sequence[Any]
    execution_s: float = EXECUTION_S
    stages: dict[str, float] = STAGES


def nothing() -> None:
    """Take no time."""


class TableExecutor:
    """Computes at once.

    Args:
        computing: called in the dispatcher, before the answer; may block, and may raise.
        announcing: called in the pump, before an output is handed over; may block.
        steps: of a request in step mode.
    """

    def __init__(
        self,
        rt: Runtime,
        *,
        computing: Callable[[], object] = nothing,
        announcing: Callable[[], object] = nothing,
        steps: int = 1,
        table: type[OutputTable] = OutputTable,
    ) -> None:
        self.table = table(rt=rt)
        self.batches: list[list[str]] = []
        self.failed: Callable[[OmniError], object] | None = None
        self._rt = rt
        self._computing = computing
        self._announcing = announcing
        self._steps = steps
        self._done: dict[str, int] = {}
        self._computed: Queue[tuple[Minted, list[str]] | None] = rt.queue()

    def start(self) -> None:
        self._pumping = self._rt.spawn(self._pump, name="pump")

    def execute(self, requests: Sequence[Request]) -> Executed:
        minted = self.table.mint() if len(requests) == 1 else self.table.mint_batch(len(requests))
        ids = [request.id for request in requests]
        self.batches.append(ids)
        self._computing()
        self._computed.put((minted, ids))
        if minted.split:
            self.table.expect_batch(minted.output, minted.outputs)
        return Executed(minted.outputs)

    def step(self, requests: Sequence[Request]) -> Stepped:
        self.batches.append([request.id for request in requests])
        self._computing()
        for request in requests:
            self._done[request.id] = self._done.get(request.id, 0) + 1
        return Stepped([each.id if self._done[each.id] == self._steps else None for each in requests])

    def call(self, method: str, /, *, timeout_s: float | None = None, **arguments: Any) -> list[Any]:
        return [(method, timeout_s, arguments)]

    def wait(self, output: str) -> Any:
        return self.table.wait(output)

    def drop(self, output: str) -> bool:
        return self.table.drop(output)

    def describe(self) -> Pending:
        return self.table.describe()

    def check_health(self) -> None:
        """Always well."""

    def on_failure(self, callback: Callable[[OmniError], object]) -> None:
        self.failed = callback

    def shutdown(self) -> bool:
        self._computed.put(None)
        self._pumping.join()
        self.table.close(ShutdownError("The engine has shut down."))
        return True

    def is_empty(self) -> bool:
        """Tell whether nothing is pending or kept."""
        left = self.describe()
        return not any((left.waiting, left.cached, left.unsplit, left.rpcs))

    def _pump(self) -> None:
        while (computed := self._computed.get()) is not None:
            minted, values = computed
            self._announcing()
            if minted.split:
                self.table.take_split(minted.output, values)
            else:
                self.table.deliver(minted.output, values[0])


def gated(rt: Runtime) -> tuple[TableExecutor, Event, Event]:
    """Make an executor whose forwards say that they have begun, and wait; gives the events of both."""
    computing, gate = rt.event(), rt.event()
    return TableExecutor(rt, computing=lambda: (computing.set(), gate.wait())), computing, gate


def engine_over(
    rt: Runtime, executor: TableExecutor, config: EngineConfig = CONFIG, parts: EngineParts | None = None
) -> EngineCore:
    """Make an engine."""
    return EngineCore(rt=rt, executor=executor, config=config, parts=parts)


def assert_settled(engine: EngineCore, executor: TableExecutor) -> None:
    """Each request has had its one outcome, and nothing is kept of any."""
    statistics = engine.statistics()
    assert (statistics.open, statistics.waiting) == (0, 0)
    assert sum(statistics.ended.values()) == statistics.admitted
    assert executor.is_empty(), executor.describe()
