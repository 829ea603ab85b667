"""One single output, and a consumer that may ask for it before, while or after the pump takes it."""

from __future__ import annotations

from omni_ipc.scenarios.launch import launch_over_queues
from omni_ipc.scenarios.parts import Parts
from omni_ipc.scenarios.table_state import project_arrival, project_table
from omni_ipc.scenarios.world import EngineWorld, Launch, PendingStep
from omni_ipc.seam.api import Runtime

OUTPUT = "1"
REQUEST = "1"


class FutureOrphanWorld(EngineWorld):
    """A dispatcher executes the request; one consumer waits for its output."""

    def __init__(self, rt: Runtime, parts: Parts, launch: Launch = launch_over_queues) -> None:
        super().__init__(
            rt=rt,
            parts=parts,
            launch=launch,
            requests=(REQUEST,),
            mint=lambda table: table.mint(),
        )

    def project(self, pending: PendingStep) -> dict[str, object]:
        """Project onto the variables of FutureOrphan."""
        return {**project_arrival(self, pending), **project_table(self)}
