"""Devices whose work is conducted: that an output is computed, an event reached, a copy visible, each is a step.

    worker.main ── record, compute ──► device.default: reach, compute, reach, give ──┐ each a region "Stream.Step"
    worker.output ─────── to_host ───► device.side:    wait, copy, reach  ◄──────────┘

They are as late as the conductor has them be, with real memory: whoever reads too early finds what was there before.
Where the device can be held back by itself, its streams are its own (held.py); else they are tasks of the worker, which
do the same with the same memory (threaded.py).
"""

from omni_ipc.stress.devices.opening import open_streams
from omni_ipc.stress.devices.pipeline import StreamPipeline

__all__ = ["StreamPipeline", "open_streams"]
