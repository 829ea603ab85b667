"""The kernel: one OS thread, tasks on greenlets, and at each point one decision about who goes on.

    task ── perform(operation) ──► point: announce it ──► next_task(): strategy chooses ──► switch ──► perform it
                                        ▲                        │ nobody can go on
                                        └── time passes ◄────────┘   (clock.py), or the run is stuck (failures.py)

A *step* is an announced operation and all that its task does up to its next point. The kernel knows no lock and no
queue: objects give it operations. While exploring it keeps integers only; texts are made when a failing schedule is run
again.

A kernel is made for each run, in three layers: what the run knows of itself (`state`), how it ends (`ending`), and how
it goes on (`kernel`). Who decides and who looks on are its `roles`.
"""

from omni_ipc.testbed.kernel.kernel import Kernel
from omni_ipc.testbed.kernel.roles import Chooser, Observer

__all__ = ["Chooser", "Kernel", "Observer"]
