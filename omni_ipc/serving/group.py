"""The processes of all ranks: opened together, and those that died replaced when the next workers are opened."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Sequence
from types import TracebackType

import msgspec

from omni_ipc.errors import UsageError
from omni_ipc.seam.api import Runtime
from omni_ipc.serving.host import WorkerHost
from omni_ipc.serving.lanes import Lanes
from omni_ipc.serving.spec import Opened, WorkerSpec
from omni_ipc.serving.workers import HostedWorkers
from omni_ipc.transport.geometry import DEFAULT_CLASSES, SlotClass
from omni_ipc.transport.lane import RING_BYTES


class HostGroup:
    """One host a rank; a context manager.

    Args:
        ranks: workers that an engine has, 1 or more.
        timeout_s: see `WorkerHost`.
    """

    def __init__(self, ranks: int = 1, *, timeout_s: float = 60.0) -> None:
        if ranks < 1:
            raise UsageError(f"{ranks} workers cannot compute anything. Give ranks=1 or more.")
        self._timeout_s = timeout_s
        self._hosts: list[WorkerHost] = []
        self._workers: weakref.ref[HostedWorkers] | None = None  # the last ones; they hold memory
        self._stopped = False
        with contextlib.ExitStack() as undo:
            for _ in range(ranks):
                self._hosts.append(undo.enter_context(WorkerHost(timeout_s=timeout_s)))
            undo.pop_all()

    def __enter__(self) -> HostGroup:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def pids(self) -> tuple[int, ...]:
        """The processes' ids, by rank."""
        return tuple(host.pid for host in self._hosts)

    def open(
        self,
        rt: Runtime,
        spec: WorkerSpec,
        *,
        ring_bytes: int = RING_BYTES,
        slab_classes: Sequence[SlotClass] = DEFAULT_CLASSES,
    ) -> HostedWorkers:
        """Run one worker a rank, and return the engine's ends of their lanes once all of them run.

        A process that has died since, or whose last worker has not ended, is replaced by a fresh one first: after a
        death, this is the restart.

        Args:
            rt: the engine's runtime.
            spec: of every worker; its ranks are filled in, and "{rank}" in its device is replaced.
            ring_bytes: of each lane.
            slab_classes: of the slab that each worker's outputs come in.

        Raises:
            UsageError: they serve another engine, which was not shut down; or were stopped.
            PeerFailed: a worker could not be built; the others are ended.
            PeerDied, Timeout: likewise.
        """
        self._require_unused()
        self._replace()
        with contextlib.ExitStack() as undo:
            lanes = Lanes(rt, ranks=len(self._hosts), ring_bytes=ring_bytes, slab_classes=slab_classes)
            undo.enter_context(contextlib.closing(lanes))
            undo.callback(self._end_those_that_serve)
            for rank, host in enumerate(self._hosts):
                device = spec.device.replace("{rank}", str(rank))
                own = msgspec.structs.replace(spec, rank=rank, ranks=len(self._hosts), device=device)
                host.tell(own, lanes.descriptors(rank))
            for host in self._hosts:
                host.await_answer(Opened)
            undo.pop_all()
            workers = HostedWorkers(self._hosts, lanes)
            self._workers = weakref.ref(workers)
            return workers

    def stop(self, *, grace_s: float = 2.0) -> None:
        """End the processes: all at once if they are idle, and those that are not are killed; idempotent."""
        self._stopped = True
        for host in self._hosts:
            host.let_go()
        for host in self._hosts:
            host.stop(grace_s=grace_s)

    def _require_unused(self) -> None:
        if self._stopped:
            raise UsageError("These hosts were stopped. Open workers before, or make a new HostGroup.")
        workers = self._workers() if self._workers is not None else None
        if workers is not None and not workers.over:
            raise UsageError(
                f"The processes {', '.join(map(str, self.pids))} serve another engine. Shut that one down first, or "
                "give each its own HostGroup."
            )

    def _replace(self) -> None:
        """Start anew what cannot take a worker."""
        for rank, host in enumerate(self._hosts):
            if not host.free:
                host.stop(grace_s=0)
                self._hosts[rank] = WorkerHost(timeout_s=self._timeout_s)

    def _end_those_that_serve(self) -> None:
        for host in self._hosts:
            if not host.free:
                host.stop(grace_s=0)
