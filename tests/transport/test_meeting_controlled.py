"""Meeting by name under the testbed: who comes, waits, stops and cleans up does so in any order; nothing is left."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from omni_ipc.errors import PeerClosed, Timeout, UsageError
from omni_ipc.records import Verdict
from omni_ipc.seam.api import Runtime
from omni_ipc.testbed import explore
from omni_ipc.transport import connection, directory, rendezvous
from omni_ipc.transport.connection import connect
from omni_ipc.transport.directory import RETRY_S, Directory
from omni_ipc.transport.liveness import this_process
from omni_ipc.transport.reader import LaneReader
from omni_ipc.transport.rendezvous import Server
from tests.support.lanes import plain_lane
from tests.support.sockets import Sockets, descriptors

LONG_S = 5.0


class World:
    """A directory, and the sockets of this run."""

    def __init__(self, rt: Runtime, place: Path, patch: pytest.MonkeyPatch) -> None:
        self.rt, self.place = rt, place
        self.sockets = Sockets(rt)
        for module in (connection, directory, rendezvous):
            patch.setattr(module, "socket", self.sockets.module)

    def server(self) -> Server:
        """Serve the name that all want."""
        return Server(rt=self.rt, name="engine", directory=self.place)

    def together(self, *doing: Callable[[], object]) -> None:
        """Do all at once."""
        tasks = [self.rt.spawn(each, name=f"task {number}") for number, each in enumerate(doing)]
        for task in tasks:
            task.join()


@pytest.fixture
def explored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[World], object]], set[str]]:
    """Run a scenario in many orders; none fails, or leaves a file or a descriptor."""

    def whole(scenario: Callable[[World], object]) -> Callable[[Runtime], object]:
        def run(rt: Runtime) -> object:
            before = descriptors()
            world = World(rt, tmp_path / "place", monkeypatch)
            outcome = scenario(world)
            assert descriptors() == before
            assert not world.place.exists() or not os.listdir(world.place), "a file was left"
            return outcome

        return run

    def explored(scenario: Callable[[World], object]) -> set[str]:
        # By lot: what they share is in the kernel, where no search sees which steps conflict.
        report = explore(whole(scenario), strategy="sampling", runs=20, declared=True)
        assert report.failure is None, report.failure
        assert report.verdict is Verdict.BOUNDED, report.reason
        return set(report.outcomes)

    return explored


Explored = Callable[[Callable[[World], object]], set[str]]


def test_of_two_that_start_at_once_one_serves_until_it_stops(explored: Explored) -> None:
    """The other one is refused, and may come behind it."""

    def scenario(world: World) -> list[str]:
        ends: list[str] = []

        def serve() -> None:
            try:
                with world.server():
                    world.rt.sleep(1)
                    ends.append("served")
            except UsageError:
                ends.append("refused")
                world.rt.sleep(2)
                serve()

        world.together(serve, serve)
        return ends

    assert explored(scenario) == {"['refused', 'served', 'served']"}


def test_a_start_whose_directory_is_removed_meanwhile_leaves_nothing(explored: Explored) -> None:
    """It waits for the directory's lock, and has nowhere to put its socket when it has it."""

    def scenario(world: World) -> str:
        ends: list[str] = []

        def remove() -> None:
            with Directory(world.place) as opened, opened._locked(world.rt):
                world.rt.sleep(RETRY_S / 2)
                with contextlib.suppress(OSError):  # a server is in it
                    world.place.rmdir()

        def serve() -> None:
            try:
                world.server().close()
                ends.append("served")
            except FileNotFoundError:
                ends.append("nowhere")

        world.together(serve, remove)
        return ends[0]

    assert explored(scenario) == {"'nowhere'", "'served'"}


def test_client_and_server_meet_whichever_comes_first(explored: Explored) -> None:
    """Also where a file has the server's name, and nobody listens there yet."""

    def scenario(world: World) -> bytes:
        heard: list[bytes] = []

        def come() -> None:
            with connect("engine", rt=world.rt, lane="out", timeout=LONG_S, directory=world.place) as met:
                met.writer.send(b"body", timeout=0)

        def serve() -> None:
            early = world.place / "engine.{}.{}".format(*this_process())
            world.place.mkdir(mode=0o700, exist_ok=True)
            early.touch()
            world.rt.sleep(2 * RETRY_S)
            early.unlink()
            with world.server() as server:
                assert server.accept(LONG_S) == "out"
                heard.append(bytes(server.port.receive(LONG_S)[1].body))

        world.together(come, serve)
        return heard[0]

    assert explored(scenario) == {"b'body'"}


def test_of_another_users_server_nothing_is_taken(explored: Explored, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asks is told whose it is, or that there is none."""
    monkeypatch.setattr(directory, "user_of", lambda connection: os.geteuid() + 1)

    def scenario(world: World) -> None:
        def come() -> None:
            with pytest.raises((UsageError, Timeout)):
                connect("engine", rt=world.rt, lane="out", timeout=2 * RETRY_S, directory=world.place)

        def serve() -> None:
            with world.server() as server:
                world.rt.sleep(RETRY_S)
                with contextlib.suppress(Timeout):
                    server.accept(0)

        world.together(come, serve)

    explored(scenario)


@pytest.mark.parametrize("ending", [Server.stop, Server.close, Server.__exit__])
def test_a_server_that_ends_lets_nobody_wait(explored: Explored, ending: Callable[..., None]) -> None:
    """Neither who accepts nor, when it is closed, who receives; and its name is free."""

    def scenario(world: World) -> None:
        server = world.server()
        server.port.add(LaneReader(plain_lane(rt=world.rt)))  # whose writer has not closed

        def accept() -> None:
            with pytest.raises(PeerClosed, match="takes no more clients"):
                server.accept(LONG_S)

        def receive() -> None:
            with pytest.raises(PeerClosed):
                server.port.receive(LONG_S)

        def end() -> None:
            ending(server, *[None] * (3 * (ending is Server.__exit__)))

        world.together(accept, end, *[receive] * (ending is not Server.stop))
        assert world.rt.now() < LONG_S, "somebody waited until its time was over"
        with world.server():
            server.close()

    explored(scenario)
