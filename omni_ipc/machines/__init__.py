"""Where programs run, of which there are many alike: processes of this machine, or nodes of a Ray.

    shards ── a program and its order, as JSON ──► place 1 ── lines of JSON ──┐
           ── the same ──────────────────────────► place 2 ── lines of JSON ──┴─► Said, Ended, Lost

A program is a module that is run in a process of its own, wherever that is: nothing travels but its name and JSON.
"""

from omni_ipc.machines.api import Ended, Event, Lost, Machines, Needs, Program, Said
from omni_ipc.machines.local import LocalMachines
from omni_ipc.machines.named import find
from omni_ipc.machines.shards import Retried, Shards

__all__ = [
    "Ended",
    "Event",
    "LocalMachines",
    "Lost",
    "Machines",
    "Needs",
    "Program",
    "Retried",
    "Said",
    "Shards",
    "find",
]
