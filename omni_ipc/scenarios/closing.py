"""A shutdown while requests are executed and awaited: whoever comes too late is told at once, and nobody is stranded.

dispatcher ─ execute ─► a worker that answers at once
consumers  ─ wait                                          all at any moment
shutdown   ─ stop
"""

from __future__ import annotations

from collections.abc import Mapping

from omni_ipc.scenarios.answering import AnsweringWorker
from omni_ipc.scenarios.parts import Parts
from omni_ipc.scenarios.world import DELIVERED, EngineWorld, Launch, PendingStep
from omni_ipc.seam.api import Runtime
from omni_ipc.serving.links import WorkerLink

REQUEST = "r"
OVER = "The engine has shut down. Start a new one for further work."
LATE = "The engine is shutting down, and takes no more calls. Start a new one."


class ClosingWorld(EngineWorld):
    """A dispatcher executes a batch, a consumer waits for one of its outputs, and somebody shuts the executor down."""

    def __init__(self, rt: Runtime, parts: Parts, launch: Launch | None = None) -> None:
        super().__init__(
            rt=rt,
            parts=parts,
            launch=launch or _launch,
            requests=(REQUEST,),
            mint=lambda table: table.mint_batch(1),
        )

    def _engage(self) -> None:
        stopping = self._rt.spawn(self.executor.shutdown, name="shutdown")
        super()._engage()
        stopping.join()

    def _is_well(self, ending: str) -> bool:
        return ending in (DELIVERED, OVER, LATE)

    def project(self, pending: PendingStep) -> Mapping[str, object]:
        return {}


def _launch(rt: Runtime, _: Parts) -> WorkerLink:
    return AnsweringWorker(rt)
