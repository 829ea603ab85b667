"""Starts the worker as tasks of the scenario's own runtime."""

from __future__ import annotations

from omni_ipc.device.host import HostDevice
from omni_ipc.scenarios.links import QueueLink
from omni_ipc.scenarios.parts import Parts
from omni_ipc.scenarios.pipelines import ArrayPipeline
from omni_ipc.scenarios.world import WorkerLink
from omni_ipc.seam.api import Runtime
from omni_ipc.serving.links import Receiver, Sender
from omni_ipc.serving.messages import Reply, Request


def launch_over_queues(rt: Runtime, parts: Parts) -> WorkerLink:
    """Link engine and worker by queues, for models in which a lane is no more than that."""
    results: QueueLink[Reply] = QueueLink(rt=rt)
    return launch_worker(rt, parts, replies=results.writer(), outputs=results.writer(), results=results)


def launch_worker(
    rt: Runtime, parts: Parts, *, replies: Sender[Reply], outputs: Sender[Reply], results: Receiver[Reply]
) -> WorkerLink:
    """Run the worker's main loop as the task "worker.main", with its results going over the given ends."""
    requests: QueueLink[Request] = QueueLink(rt=rt)
    to_worker = requests.writer()
    worker = parts.worker(
        rt=rt,
        requests=requests,
        replies=replies,
        outputs=outputs,
        pipeline=ArrayPipeline(),
        device=HostDevice(),
    )
    task = rt.spawn(worker.run, name="worker.main")
    return WorkerLink(requests=to_worker, results=results, join=task.join)
