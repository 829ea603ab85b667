"""Nodes of a Ray: as many places as they have cores, or one a node.

    this process ── begin, hear, hear, ..., stop ──► Seat, an actor on the node ──► python -m MODULE

Each place is an actor on a node that was chosen for it; when that is lost, so is its program, and Ray does not move it.
"""

from __future__ import annotations

import contextlib
import importlib
import signal
import socket
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from time import monotonic
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from omni_ipc import __version__
from omni_ipc.errors import EnvironmentMissing, Inconclusive, UsageError
from omni_ipc.interrupts import postponed
from omni_ipc.machines.api import Ended, Event, Lost, Needs, Program, Said
from omni_ipc.machines.seat import MISFIT, Seat

_HEAR_S = 0.5
_LOOK_S = 0.25  # for so long may Ctrl-C have to wait
_START_S = 600.0  # a node may have to be made, by an autoscaler
_CONNECT_S = 10.0
_TRIES = 3
_PORT = 10001  # that Ray serves clients at, if it is not told another
_INSTALL = "pip install 'omni-ipc[ray]'"


class _Place(NamedTuple):
    """An actor that runs a program.

    Args:
        begun: when it was asked for; None once it has answered.
    """

    shard: int
    actor: Any
    node: str
    begun: float | None


class RayMachines:
    """Nodes of a Ray.

    Args:
        name: "ray", or "ray://HOST:PORT".

    Raises:
        EnvironmentMissing: Ray is not installed, cannot be reached, or has no node with what a place needs.
    """

    path: tuple[str, ...] = ()

    def __init__(self, name: str, needs: Needs) -> None:
        self.heard: deque[Event] = deque()
        self._name = name
        self._needs = needs
        self._ray = _connect(name)
        self._places: dict[Any, _Place] = {}  # by the answer that is awaited
        try:
            if not len(self):
                raise EnvironmentMissing(f"No node of {self} has {_told(needs)}.", "Add one, or ask for less.")
        except BaseException:
            self.close()
            raise

    def __len__(self) -> int:
        return sum(self._room(node) for node in self._nodes())

    def __str__(self) -> str:
        return f"Ray at {self._name}" if self._name != "ray" else "Ray"

    def start(self, shard: int, program: Program) -> None:
        taken = Counter(place.node for place in self._places.values())
        nodes = [node for node in self._nodes() if self._room(node) > taken[node["NodeID"]]]
        if not nodes:
            raise Inconclusive(f"{self} has no place left for shard {shard}. See to its nodes, and run it again.")
        node = min(nodes, key=lambda node: taken[node["NodeID"]] / self._room(node))
        cores = int(node["Resources"]["CPU"]) if self._needs.whole else 1
        affinity = importlib.import_module("ray.util.scheduling_strategies").NodeAffinitySchedulingStrategy
        with _undisturbed(self):
            actor = (
                self._ray.remote(Seat)
                .options(
                    num_cpus=cores,
                    num_gpus=self._needs.gpus,
                    max_restarts=0,
                    scheduling_strategy=affinity(node["NodeID"], soft=False),
                )
                .remote(__version__)
            )
            answer = actor.begin.remote(program.module, program.order)
            self._places[answer] = _Place(shard, actor, node["NodeID"], monotonic())

    def wait(self, timeout_s: float) -> None:
        with _undisturbed(self):
            ready, _ = self._ray.wait(list(self._places), num_returns=1, timeout=min(timeout_s, _LOOK_S))
            for answer in ready:
                self.heard += self._hear(answer)
            self.heard += self._late()

    def stop(self) -> None:
        with _undisturbed(self):
            for place in self._places.values():
                place.actor.stop.remote()

    def kill(self) -> None:
        self.heard.clear()
        places, self._places = [*self._places.values()], {}  # whatever comes of it: Ray ends them once nobody is there
        with _undisturbed(self):
            for place in places:
                self._ray.kill(place.actor)

    def close(self) -> None:
        with contextlib.suppress(Exception):  # it may be gone, which is what is wanted
            self.kill()
        with postponed():
            self._ray.shutdown()

    def _nodes(self) -> list[Mapping[str, Any]]:
        with _undisturbed(self):
            return [node for node in self._ray.nodes() if node["Alive"]]

    def _room(self, node: Mapping[str, Any]) -> int:
        cores = int(node["Resources"].get("CPU", 0))
        if self._needs.gpus:
            cores = min(cores, int(node["Resources"].get("GPU", 0)) // self._needs.gpus)
        return min(cores, 1) if self._needs.whole else cores

    def _hear(self, answer: Any) -> Iterator[Event]:
        """Take an answer of an actor, and ask it for more."""
        place = self._places.pop(answer)
        try:
            heard = self._ray.get(answer)
        except self._ray.exceptions.RayError as error:
            yield Lost(place.shard, self._why(place, error))
            return
        lines, status, lost = ([], None, "") if isinstance(heard, str) else heard
        yield from (Said(place.shard, line) for line in lines)
        if status is None and not lost:
            self._places[place.actor.hear.remote(_HEAR_S)] = place._replace(begun=None)
            return
        self._ray.kill(place.actor)
        yield Lost(place.shard, lost) if lost else Ended(place.shard, status or 0)

    def _why(self, place: _Place, error: Exception) -> str:
        """Say how an actor was lost.

        Raises:
            UsageError: its node can run none, and no other attempt would help.
        """
        text = str(error)
        if MISFIT in text or "failed to be imported" in text or "No module named 'omni_ipc'" in text:
            raise UsageError(
                f"Node {place.node[:8]} of {self} cannot run omni-ipc {__version__}: {_gist(text)}. Install that "
                "version on every node."
            )
        return f"node {place.node[:8]} of {self}: {type(error).__name__}: {_gist(text)}"

    def _late(self) -> Iterator[Event]:
        """Give up places that do not begin."""
        for answer, place in list(self._places.items()):
            if place.begun is not None and monotonic() - place.begun > _START_S:
                del self._places[answer]
                self._ray.kill(place.actor)
                yield Lost(place.shard, f"node {place.node[:8]} of {self} did not begin within {_START_S:.0f} s")


def _connect(name: str) -> Any:
    """Import Ray, and connect to it; whoever handles signals goes on to do so."""
    try:
        ray = importlib.import_module("ray")
    except ModuleNotFoundError:
        raise EnvironmentMissing("Ray is not installed.", f"Install it: {_INSTALL}.") from None
    if name != "ray":
        _require_port(name)
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        _init(ray, name)
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    return ray


def _init(ray: Any, name: str) -> None:
    """Connect; a busy head may fail to start its server for one client, and succeed with the next.

    Raises:
        EnvironmentMissing: it cannot be reached.
    """
    for left in reversed(range(_TRIES)):
        try:
            ray.init(address="auto" if name == "ray" else name, log_to_driver=False, logging_level="ERROR")
        except Exception as error:  # of many kinds
            ray.shutdown()
            if not left or "client server" not in str(error):
                raise _not_there(name, str(error)) from None
        else:
            return


def _require_port(name: str) -> None:
    """See that somebody listens there: Ray itself would try for minutes.

    Raises:
        EnvironmentMissing: nobody does.
    """
    try:
        there = urlsplit(name)
        socket.create_connection((there.hostname or "", there.port or _PORT), timeout=_CONNECT_S).close()
    except (OSError, ValueError) as error:
        raise _not_there(name, str(error)) from None


def _not_there(name: str, why: str) -> EnvironmentMissing:
    return EnvironmentMissing(
        f"{name} cannot be reached: {_gist(why)}.",
        f"Start it there: ray start --head --ray-client-server-port={_PORT}; then it is ray://HOST:{_PORT}.",
    )


@contextlib.contextmanager
def _undisturbed(machines: RayMachines) -> Iterator[None]:
    """Keep Ctrl-C out of Ray's client, which may hang after it; and say that Ray itself is gone, if it is."""
    try:
        with postponed():
            yield
    except (ConnectionError, OSError) as error:
        raise Inconclusive(
            f"The connection to {machines} is lost: {_gist(str(error))}. See to its head, and run it again."
        ) from None


def _gist(text: str) -> str:
    """Give the last line of an error that says something; Ray's have many."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1].rstrip(".")[:300] if lines else "no reason was given"


def _told(needs: Needs) -> str:
    return f"{needs.gpus} GPUs" if needs.gpus else "a core"
