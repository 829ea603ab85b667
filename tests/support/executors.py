"""An executor over a worker process."""

from __future__ import annotations

from omni_ipc.seam.api import Runtime
from omni_ipc.serving.config import ServingConfig
from omni_ipc.serving.executor import Executor
from omni_ipc.serving.links import WorkerLink
from omni_ipc.serving.outputs import OutputTable
from tests.support.lanes import RT


def executor_over(worker: WorkerLink, rt: Runtime = RT) -> Executor:
    """Start an executor whose waits are far longer than any answer takes."""
    executor = Executor(
        rt=rt,
        link=worker,
        table=OutputTable(rt=rt),
        config=ServingConfig(output_timeout_s=30, rpc_timeout_s=30),
    )
    executor.start()
    return executor
