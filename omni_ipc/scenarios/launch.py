"""Starts the worker as tasks of the scenario's own runtime."""

from __future__ import annotations

from omni_ipc.device.api import Device
from omni_ipc.device.host import HostDevice
from omni_ipc.errors import PeerDied, PeerError, PeerFailed
from omni_ipc.scenarios.links import QueueLink
from omni_ipc.scenarios.parts import Parts
from omni_ipc.scenarios.pipelines import ArrayPipeline
from omni_ipc.scenarios.world import CONFIG
from omni_ipc.seam.api import Runtime
from omni_ipc.serving.links import Receiver, Sender
from omni_ipc.serving.messages import Command, Reply
from omni_ipc.serving.pipeline import Pipeline
from omni_ipc.serving.worker import Worker
from omni_ipc.transport.wire import RemoteError


class TaskLink:
    """A worker that runs as tasks of this runtime; they stand for a process, which a fault may kill."""

    ranks = 1

    def __init__(self, rt: Runtime, worker: Worker, requests: Sender[Command], results: Receiver[Reply]) -> None:
        self.requests = requests
        self.results = results
        self.worker = worker
        self._failure: PeerFailed | None = None
        self._ended = False
        self._task = rt.spawn(self._run, worker, name="worker.main")

    def stopped(self, rank: int) -> None:
        """Tasks are not stopped by signals."""

    def death(self, rank: int) -> PeerError | None:
        """Tell what ended one of its tasks; or that it was killed, if it ended in the middle of its work."""
        if self._failure is not None:
            return self._failure
        if self._ended or self._task.is_alive():
            return None
        return PeerDied("The worker", "killed by SIGKILL")

    def join(self) -> None:
        """Wait until its main loop has ended."""
        self._task.join()

    def _run(self, worker: Worker) -> None:
        worker.run(self._note)
        self._ended = True

    def _note(self, error: BaseException) -> None:
        self._failure = self._failure or RemoteError.from_exception(error).as_error("The worker")


def launch_over_queues(
    rt: Runtime,
    parts: Parts,
    *,
    pipeline: Pipeline | None = None,
    device: Device | None = None,
    drain_timeout_s: float = CONFIG.drain_timeout_s,
) -> TaskLink:
    """Link engine and worker by queues, for models in which a lane is no more than that."""
    results: QueueLink[Reply] = QueueLink(rt=rt)
    replies, outputs = results.writer(), results.writer()
    return launch_worker(
        rt,
        parts,
        replies=replies,
        outputs=outputs,
        results=results,
        pipeline=pipeline,
        device=device,
        drain_timeout_s=drain_timeout_s,
    )


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
    return TaskLink(rt, worker, to_worker, results)
