"""Faults, as choices: explored, replayed and shrunk as the choice of the next task is.

    explore(scenario, faults=[Kill("worker"), SpuriousWakeup()], timers="explored")
    omni-ipc explore file.py:scenario --faults kill:worker --faults spurious --timers explored

None is possible unless it is asked for: each multiplies the schedules, and what survives them is a question of what the
code under test promises. A fault happens before a step of some task, so many times in a run at most.
"""

from omni_ipc.testbed.faults.cancel import Cancel, Cancellable
from omni_ipc.testbed.faults.hook import Hook
from omni_ipc.testbed.faults.kernel import Fault
from omni_ipc.testbed.faults.kill import Kill
from omni_ipc.testbed.faults.late import LateMessage
from omni_ipc.testbed.faults.names import Timers, parse
from omni_ipc.testbed.faults.spurious import SpuriousWakeup
from omni_ipc.testbed.faults.timers import EarlyTimers

__all__ = [
    "Cancel",
    "Cancellable",
    "EarlyTimers",
    "Fault",
    "Hook",
    "Kill",
    "LateMessage",
    "SpuriousWakeup",
    "Timers",
    "parse",
]
