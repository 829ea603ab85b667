"""The event loop of asyncio under control.

loop.py         the loop: callbacks are steps, the selector waits at a point
futures.py      its futures and tasks, which other threads use at points
registry.py     the loops of one run, and what they keep in the OS thread
redirects.py    what leads asyncio's own code to them
oracle.py       what a loop would only log, as failures
naming.py       names of callbacks and tasks, and where they wait
refusals.py     what a loop cannot do: whatever waits for the world outside
"""

from omni_ipc.testbed.loops import states  # noqa: F401 - looks into loops from now on
from omni_ipc.testbed.loops.loop import ControlledLoop
from omni_ipc.testbed.loops.registry import pending_tasks

__all__ = ["ControlledLoop", "pending_tasks"]
