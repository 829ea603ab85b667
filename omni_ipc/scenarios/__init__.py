"""Small worlds built out of the product, each with the model that it implements and the defects that it can have."""

from __future__ import annotations

from omni_ipc.errors import UnknownName
from omni_ipc.scenarios.defects import DEFECTS, KNOWN, Defect
from omni_ipc.scenarios.parts import Parts
from omni_ipc.scenarios.scenario import Scenario, World, WorldClass
from omni_ipc.scenarios.table import SCENARIOS
from omni_ipc.scenarios.world import Launch, OutputsLost

__all__ = [
    "DEFECTS",
    "KNOWN",
    "SCENARIOS",
    "Defect",
    "Launch",
    "OutputsLost",
    "Parts",
    "Scenario",
    "World",
    "WorldClass",
    "find",
]


def find(name: str) -> Scenario:
    """Look up a scenario.

    Raises:
        UnknownName: there is none of that name.
    """
    if name not in SCENARIOS:
        raise UnknownName("scenario", name, SCENARIOS)
    return SCENARIOS[name]
