"""A shutdown while requests are admitted, computed and taken; the worker loses what it has not announced then.

"client 1", "client 2" ─ submit, result ─┐
"shutdown" ─ shutdown ───────────────────┴─► engine ◄── answers, goodbye ── worker
                                               ▲                               │
                                               └── outputs ◄── "worker.output 1", "worker.output 2"
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from omni_ipc.scenarios.clients import AT_REST_S, SHUT_DOWN
from omni_ipc.scenarios.request_path import NotingWorker, RequestPathWorld, project_dispatcher
from omni_ipc.scenarios.world import DELIVERED, PendingStep
from omni_ipc.seam.api import Runtime, Task
from omni_ipc.serving.messages import Command, Execute, Stop


class PartingWorker(NotingWorker):
    """Announces each output in a task of its own, at whatever moment; behind its goodbye nothing comes."""

    def __init__(self, rt: Runtime) -> None:
        super().__init__(rt, output_after_s=AT_REST_S)
        self._parted = False

    def send(self, message: Command, payload: Any = None) -> None:
        if isinstance(message, Stop):
            self._parted = True
            self._replies.close()
        else:
            super().send(message, payload)

    def join(self) -> None:
        """Wait for what can no longer be announced."""
        for task in self._announcing:
            task.join()

    def _announce_late(self, message: Execute) -> None:
        with self._rt.region("Worker.Announce", output=message.output):
            if not self._parted:
                self._announce(message)


class ShutdownSalvageWorld(RequestPathWorld):
    """Both clients ask for their outputs; nothing that has come may be given up, as nobody leaves."""

    ids = MappingProxyType({1: "a", 2: "b"})
    allowed = MappingProxyType({f"client {number}": {DELIVERED, SHUT_DOWN} for number in ids})
    worker = PartingWorker

    def _engage(self) -> Iterator[Task]:
        yield from super()._engage()
        yield self._rt.spawn(self._shut_down, name="shutdown")

    def _shut_down(self) -> None:
        self._engine.shutdown()
        if dropped := self._table.tally().dropped:
            self._missed = f"{dropped} outputs were given up, and nobody had left"

    def project(self, pending: PendingStep) -> Mapping[str, object]:
        """Project onto the variables of ShutdownSalvage."""
        forwards = range(1, len(self._worker.owner) + 1)
        return {
            **self._project_requests(pending),
            "shutdown": self._stage(pending),
            "dispatcher": self._dispatcher(pending),
            "computed": {forward for forward in forwards if pending(f"worker.output {forward}") is not None},
            "lane": self._on_the_lane(pending),
            "pump": "gone" if pending("pump") is None else "pumping",
        }

    def _stage(self, pending: PendingStep) -> str:
        """Tell how far the shutdown has come."""
        match pending("shutdown"):
            case None:
                return "over"
            case ("Engine.Close", _):
                return "running"
            case ("Executor.Stop", _):
                return "refused"
        return "closed" if self._table._closed is None else "stopped"

    def _dispatcher(self, pending: PendingStep) -> str:
        match pending("dispatcher"):
            case (region, _) if region in _LEAVING:
                return _LEAVING[region]
        return project_dispatcher(pending)


_LEAVING = {"Dispatcher.Settle": "answered", "Engine.Close": "leaving", "Dispatcher.Leave": "left"}
