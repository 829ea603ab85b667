"""One batch of two requests: its output and its split map may come in either order."""

from __future__ import annotations

from omni_ipc.scenarios.launch import launch_over_queues
from omni_ipc.scenarios.parts import Parts
from omni_ipc.scenarios.table_state import project_arrival, project_table
from omni_ipc.scenarios.world import EngineWorld, Launch, PendingStep
from omni_ipc.seam.api import Runtime

REQUESTS = ("1", "2")
OUTPUTS = ("1/1", "1/2")


class SplitMapWorld(EngineWorld):
    """A dispatcher executes the batch; two consumers wait for its outputs."""

    def __init__(self, rt: Runtime, parts: Parts, launch: Launch = launch_over_queues) -> None:
        super().__init__(
            rt=rt,
            parts=parts,
            launch=launch,
            requests=REQUESTS,
            mint=lambda table: table.mint_batch(len(REQUESTS)),
        )

    def project(self, pending: PendingStep) -> dict[str, object]:
        """Project onto the variables of SplitMap."""
        return {
            **project_arrival(self, pending),
            **project_table(self),
            "splits": set(self.table._splits),
            "unsplit": set(self.table._unsplit),
        }
