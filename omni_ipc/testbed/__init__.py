"""The testbed: runs a scenario under every schedule that can matter, and replays, shrinks and explains what fails.

    report = explore(scenario)                     every schedule, or as many as a budget allows
    result = replay(scenario, report.trace)        one of them again
    with Stepper(scenario) as stepper: ...         one of them by hand

It stands on the seam's contract alone, so it serves any code that takes its primitives from a `Runtime`.
"""

from omni_ipc.testbed.explorer import explore
from omni_ipc.testbed.following import Diverged
from omni_ipc.testbed.replay import Mode, ReplayResult, replay, shrink
from omni_ipc.testbed.runtime import ControlledRuntime
from omni_ipc.testbed.stepper import Offer, Refused, ScheduleFailed, Stepper, Stepping
from omni_ipc.testbed.strategies import STRATEGIES
from omni_ipc.testbed.tally import Progress

__all__ = [
    "STRATEGIES",
    "ControlledRuntime",
    "Diverged",
    "Mode",
    "Offer",
    "Progress",
    "Refused",
    "ReplayResult",
    "ScheduleFailed",
    "Stepper",
    "Stepping",
    "explore",
    "replay",
    "shrink",
]
