"""The workers of one engine, as the engine sees them: lanes to and from them, how they end, and their end."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from omni_ipc.errors import PeerError, PeerFailed, ShutdownError
from omni_ipc.serving.lanes import Lanes
from omni_ipc.serving.links import Delivery, Receiver, Sender
from omni_ipc.serving.messages import Command, Reply
from omni_ipc.serving.spec import Ended
from omni_ipc.transport.guests import Outlet

if TYPE_CHECKING:
    from omni_ipc.serving.host import WorkerHost


class HostedWorkers:
    """The workers of one engine, each in a host's process, and the engine's ends of their lanes.

    Whoever drops it in place of ending them leaves nothing of the lanes behind; the hosts replace their processes.
    """

    def __init__(self, hosts: Sequence[WorkerHost], lanes: Lanes) -> None:
        self.requests: Sender[Command] = lanes.requests
        self.results: Receiver[Reply] = lanes.results
        self._hosts = tuple(hosts)
        self._open = list(hosts)  # whose workers have not ended in good order
        self._lanes: Lanes | None = lanes
        self._closing = weakref.finalize(self, lanes.close)
        self._closing.atexit = False  # the memory goes with the process

    @property
    def pids(self) -> tuple[int, ...]:
        """The processes' ids, by rank."""
        return tuple(host.pid for host in self._hosts)

    @property
    def ranks(self) -> int:
        """How many there are."""
        return len(self._hosts)

    def death(self, rank: int | None = None) -> PeerError | None:
        """Tell how the worker of a rank died, if it did; without a rank, that of the lowest one that did.

        Returns:
            what ended its main loop or its output thread, as soon as that has; else how its process ended.
        """
        hosts = self._hosts if rank is None else (self._hosts[rank],)
        return next((death for host in hosts if (death := host.failure() or host.death()) is not None), None)

    def stopped(self, rank: int) -> PeerFailed | None:
        """Tell whether the process of a rank was stopped by a signal."""
        return self._hosts[rank].stopped()

    @property
    def over(self) -> bool:
        """Tell whether their end was waited for, or brought about."""
        return self._lanes is None

    def outlet(self, rank: int = 0) -> Outlet:
        """Give what it takes to hand the outputs of a rank on to another process; see `Relay`.

        Raises:
            ShutdownError: their memory was given back.
        """
        if self._lanes is None:
            raise _over()
        return self._lanes.outlet(rank)

    def join(self) -> None:
        """Wait until every worker has ended, after Stop; then give back the memory of their lanes. Idempotent.

        Raises:
            PeerFailed: one ended with an error; told once all have ended.
            PeerDied: a process died.
            Timeout: one does not end.
        """
        with contextlib.ExitStack() as ending:
            ending.callback(self._give_back)
            for host in () if self.over else self._hosts:
                ending.callback(self._await_end, host)

    def kill(self) -> None:
        """Kill the processes whose workers have not ended, and give back the memory of the lanes. Idempotent."""
        with contextlib.ExitStack() as ending:
            ending.callback(self._give_back)
            self.kill_processes()

    def kill_processes(self) -> None:
        """Kill them alone: whoever waits for them hears of it, and `kill` gives the memory back behind that."""
        for host in self._hosts:
            if host in self._open and not host.free:  # the others may serve another engine by now
                host.kill()

    def _await_end(self, host: WorkerHost) -> None:
        host.await_answer(Ended)
        self._open.remove(host)

    def _give_back(self) -> None:
        """Let go of the lanes, so that their memory goes, however long an engine that was shut down is kept."""
        self._lanes = None
        self.requests = self.results = _Gone()
        self._closing()


class _Gone:
    """Both ends of lanes whose memory was given back."""

    def send(self, message: Command, payload: Any = None) -> None:
        raise _over()

    def receive(self, timeout: float) -> Delivery[Reply]:
        raise _over()

    def close(self) -> None:
        return


def _over() -> ShutdownError:
    return ShutdownError("The engine has shut down, and its lanes are gone. Start a new one.")
