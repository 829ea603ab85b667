"""The output table as the models SplitMap and FutureOrphan see it."""

from __future__ import annotations

from collections.abc import Mapping

from omni_ipc.records import Field
from omni_ipc.scenarios.links import QueueLink
from omni_ipc.scenarios.world import EngineWorld, PendingStep
from omni_ipc.serving.messages import OutputReady

IDLE = {"at": "idle", "output": "none"}


def project_arrival(world: EngineWorld, pending: PendingStep) -> dict[str, object]:
    """Project ``inbox`` and ``pump``: announced outputs on their way, and the one in the pump's hands."""
    inbox: set[object] = set()
    if isinstance(results := world.link.results, QueueLink):
        inbox = {message.output for message in results.in_flight if isinstance(message, OutputReady)}
    pump: Mapping[str, Field] = IDLE
    match pending("pump"):
        case ("Pump.Unpack", fields):  # taken off the link, but not yet unpacked: one step in the model
            inbox.add(fields["output"])
        case ("Pump.Deliver" | "Pump.TakeSplit", fields):
            pump = {"at": _held_as(fields), "output": fields.get("output", fields.get("batch", "none"))}
    return {"inbox": inbox, "pump": pump}


def project_table(world: EngineWorld) -> dict[str, object]:
    """Project ``registered``, ``cached`` and ``waiter``: futures and outputs in the table."""
    return {
        "registered": set(world.table._waiting),
        "cached": set(world.table._cached),
        "waiter": {output: _waiter(world, output) for output in world.outputs},
    }


def _held_as(fields: Mapping[str, Field]) -> str:
    """The defect unpack_outside_lock holds the future, too, while it unpacks."""
    return "holding" if fields.get("holding") else "unpacked"


def _waiter(world: EngineWorld, output: str) -> str:
    future = world.futures.get(output)
    if future is None:
        return "absent"
    return "served" if future.done() else "waiting"
