"""An executor over a worker process."""

from __future__ import annotations

from omni_ipc.serving.config import ServingConfig
from omni_ipc.serving.executor import Executor
from omni_ipc.serving.links import WorkerLink
from omni_ipc.serving.outputs import OutputTable
from tests.support.lanes import RT


def executor_over(worker: WorkerLink) -> Executor:
    """Start an executor whose waits are far longer than any answer takes."""
    executor = Executor(
        rt=RT,
        link=worker,
        table=OutputTable(rt=RT),
        config=ServingConfig(output_timeout_s=30, rpc_timeout_s=30),
    )
    executor.start()
    return executor
