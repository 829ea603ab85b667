"""Machines by the name that a command is given."""

from __future__ import annotations

import os

from omni_ipc.errors import UsageError
from omni_ipc.machines.api import Machines, Needs
from omni_ipc.machines.local import LocalMachines
from omni_ipc.machines.ray import RayMachines

MOST_A_CORE = 8


def find(name: str, needs: Needs | None = None) -> Machines:
    """Give the machines of a name: ``local:2``, ``ray`` or ``ray://HOST:PORT``.

    Args:
        needs: what each place must have; of Ray, whose nodes tell what they have.

    Raises:
        UsageError: there are none of that name.
        EnvironmentMissing: Ray is not installed, or not there, or has no node of that kind.
    """
    kind, _, rest = name.partition(":")
    if kind == "local" and rest.isdecimal() and int(rest) > 0:
        most = MOST_A_CORE * (os.cpu_count() or 1)
        if int(rest) > most:
            raise UsageError(f"'{name}' are more processes than this machine can make use of: {most}. Give fewer.")
        return LocalMachines(int(rest))
    if name == "ray" or (kind == "ray" and len(rest) > len("//")):
        return RayMachines(name, needs or Needs())
    raise UsageError(
        f"There are no machines '{name}'. Give local:2 for two processes of this machine, ray://HOST:PORT for a Ray, "
        "or ray for the one that this machine is a node of."
    )
