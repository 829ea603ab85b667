"""The worker of a conducted run whose schedule kills its process."""

from __future__ import annotations

import contextlib

from omni_ipc.errors import OmniError, PeerDied
from omni_ipc.serving.host import WorkerHost
from omni_ipc.serving.links import Receiver, Sender, WorkerLink
from omni_ipc.serving.messages import Command, Reply

KILL = "fault.kill(worker)"
"""The step of a trace at which it happens."""

TASKS = ("worker.main", "worker.output")
"""Those of a worker that end with its process."""


class Victim:
    """A worker's process that is killed in the middle of its work.

    Attributes:
        was_killed: by the schedule, so that its death is no finding.
    """

    def __init__(self, host: WorkerHost) -> None:
        self._host = host
        self.was_killed = False

    def kill(self) -> bool:
        """Kill it, and tell whether it has ended."""
        self.was_killed = True
        return self._host.kill()

    def as_link(self, workers: WorkerLink) -> WorkerLink:
        """Give the link to a worker that runs there, for a world that judges deaths by what it was told."""
        return _MortalLink(self, workers)


class _MortalLink:
    """A link whose worker may have been killed when its end is waited for."""

    ranks = 1

    def __init__(self, victim: Victim, workers: WorkerLink) -> None:
        self._victim = victim
        self._workers = workers
        self.requests: Sender[Command] = workers.requests
        self.results: Receiver[Reply] = workers.results

    def death(self, rank: int, /) -> OmniError | None:
        return self._workers.death(rank)

    def stopped(self, rank: int, /) -> OmniError | None:
        return self._workers.stopped(rank)

    def join(self) -> None:
        with contextlib.suppress(*[PeerDied] if self._victim.was_killed else []):
            self._workers.join()
