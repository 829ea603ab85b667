"""Starts the worker as tasks of the scenario's own runtime."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from omni_ipc.device.api import Device
from omni_ipc.device.host import HostDevice
from omni_ipc.scenarios.links import QueueLink
from omni_ipc.scenarios.parts import Parts
from omni_ipc.scenarios.pipelines import ArrayPipeline
from omni_ipc.scenarios.world import CONFIG
from omni_ipc.seam.api import Runtime
from omni_ipc.serving.links import Receiver, Sender
from omni_ipc.serving.messages import Command, Reply
from omni_ipc.serving.pipeline import Pipeline


@dataclasses.dataclass(slots=True)
class TaskLink:
    """A worker that runs as tasks of this runtime, which stand for a process: a fault may kill them."""

    requests: Sender[Command]
    results: Receiver[Reply]
    ranks: int = 1
    task: Task | None = None
    ended: bool = False

    def death(self, rank: int) -> PeerDied | None:
        """Tell that it was killed, if it ended in the middle of its work."""
        if self.task is None or self.ended or self.task.is_alive():
            return None
        return PeerDied("The worker", "killed by SIGKILL")

    def run(self, worker: Worker) -> None:
        """Run the main loop, and note its end."""
        try:
            worker.run()
        finally:
            self.ended = True


def launch_over_queues(rt: Runtime, parts: Parts) -> TaskLink:
    """Link engine and worker by queues, for models in which a lane is no more than that."""
    results: QueueLink[Reply] = QueueLink(rt=rt)
    return launch_worker(rt, parts, replies=results.writer(), outputs=results.writer(), results=results)


def launch_worker(
    rt: Runtime,
    parts: Parts,
    *,
    replies: Sender[Reply],
    outputs: Sender[Reply],
    results: Receiver[Reply],
    pipeline: Pipeline | None = None,
    device: Device | None = None,
    drain_timeout_s: float = CONFIG.drain_timeout_s,
) -> TaskLink:
    """Run the worker's main loop as the task "worker.main", with its results going over the given ends.

    Args:
        pipeline: computes small arrays unless given.
        device: the host unless given.
    """
    requests: QueueLink[Command] = QueueLink(rt=rt)
    to_worker = requests.writer()
    worker = parts.worker(
        rt=rt,
        requests=requests,
        replies=replies,
        outputs=outputs,
        pipeline=pipeline or ArrayPipeline(),
        device=device or HostDevice(),
        drain_timeout_s=drain_timeout_s,
    )
    task = rt.spawn(worker.run, name="worker.main")
    return TaskLink(requests=to_worker, results=results, join=task.join)
