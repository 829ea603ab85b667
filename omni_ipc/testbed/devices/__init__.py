"""A device to test with: what is issued to it is done later, in the order of each stream, and no sooner.

    with rt: device = SimulatedDevice(rt)
    device.compute(fn, ...)    on the stream of the calling task; returns at once, with memory that holds nonsense
    device.to_host(...)        behind an event, on a stream of its own

Each command is a step of its stream, so that a copy is late whenever it can be. Whoever does not wait for it reads what
was there before; memory that was given back is poisoned, once its stream comes to it.
"""

from omni_ipc.testbed.devices.memory import POISON, Block
from omni_ipc.testbed.devices.simulated import HostTensor, SimulatedDevice, SimulatedTensor
from omni_ipc.testbed.devices.streams import SimulatedEvent, Stream

__all__ = ["POISON", "Block", "HostTensor", "SimulatedDevice", "SimulatedEvent", "SimulatedTensor", "Stream"]
