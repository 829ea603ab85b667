"""Processes that did not start each other meet by name: in either order, at once, after deaths; nobody else does."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from omni_ipc.errors import Full, PeerClosed, PeerDied, Timeout, UsageError
from omni_ipc.transport import directory as directories
from omni_ipc.transport import rendezvous, wire
from omni_ipc.transport.connection import connect
from omni_ipc.transport.directory import Directory
from omni_ipc.transport.liveness import this_process
from omni_ipc.transport.rendezvous import Server
from tests.support.lanes import RT, inbound
from tests.support.roles import body_of
from tests.support.waiting import again, within
from tests.support.zygote import Child, Zygote


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory that is not there yet, with a path too long for a socket's address."""
    return tmp_path / ("meeting-place-" * 9)


def receive_all(server: Server) -> dict[str, list[bytes]]:
    """Receive until every client has closed."""
    server.stop()
    received: dict[str, list[bytes]] = {}
    while not server.port.ended:
        with suppress(PeerClosed):
            lane, message = server.port.receive(30)
            received.setdefault(lane, []).append(bytes(message.body))
    return received


def test_a_client_that_starts_first_waits_for_its_server(children: Zygote, place: Path) -> None:
    """And its first message is not lost."""
    options = {"name": "engine", "lane": "early", "directory": str(place), "count": 9}
    with children.fork("connect_and_write", **options) as child:
        while not place.is_dir():  # the client makes it
            assert not child.ended(within_ms=1)
        with Server(rt=RT, name="engine", directory=place) as server:
            assert server.accept(30) == "early"
            assert receive_all(server) == {"early": [body_of(number) for number in range(9)]}
            assert child.ended(within_ms=10_000)


def test_a_client_finds_a_server_that_started_first(children: Zygote, place: Path) -> None:
    """What it sent was received, and it knows so."""
    with children.fork("serve", name="engine", directory=str(place), expected=1) as server:
        with connect("engine", rt=RT, lane="late", timeout=30, directory=place) as connection:
            connection.writer.send(b"body", timeout=30)
            connection.writer.close(30)
            assert connection.writer.join(30) == (2, 2)
        assert server.ended(within_ms=10_000)


def test_server_and_clients_that_start_at_once_all_meet(children: Zygote, place: Path) -> None:
    """Five processes, forked in a row; the server ends when all four have been heard to their end."""
    forked: list[Child] = []
    for lane in range(4):
        forked.append(children.fork("connect_and_write", name="engine", lane=f"{lane}", directory=str(place), count=20))
        if lane == 1:
            forked.append(children.fork("serve", name="engine", directory=str(place), expected=4))
    for child in forked:
        with child:
            assert child.ended(within_ms=30_000)
    assert not list(place.iterdir())


def test_of_servers_that_start_at_once_exactly_one_serves(children: Zygote, place: Path) -> None:
    """The others are told which process it is."""
    names = [f"{number}" for number in range(6)]
    with inbound(*names) as link:
        racers = [
            children.fork("serve_if_first", *link.fds[name], name="engine", directory=str(place)) for name in names
        ]
        told: list[str] = []
        first = 0
        while len(told) < len(names):
            with suppress(PeerClosed):
                lane, message = link.port.receive(30)
                told.append(bytes(message.body).decode())
                first = racers[int(lane)].pid if told[-1] == "first" else first
        for racer in racers:
            with racer:
                pass
    assert sorted(told) == [f"'engine' is served by process {first} already. Connect to it, or stop it."] * 5 + [
        "first"
    ]


def test_a_dead_servers_socket_is_swept_by_the_next_start(children: Zygote, place: Path) -> None:
    """Whatever name it served, and though a child that it forked still holds the socket open."""
    with inbound("out") as link:
        role = "serve_and_leave_a_child"
        with children.fork(role, *link.fds["out"], name="dead", directory=str(place)) as child:
            assert int(bytes(link.port.receive(30)[1].body))
            assert child.ended(within_ms=10_000)
            assert len(list(place.iterdir())) == 1
            with pytest.raises(Timeout, match=r"Nobody served 'dead' in .* within 0\.05 s\. Start its server"):
                connect("dead", rt=RT, lane="out", timeout=0.05, directory=place)
            with Server(rt=RT, name="other", directory=place):
                assert [path.name.partition(".")[0] for path in place.iterdir()] == ["other"]
    assert not list(place.iterdir())


def test_a_socket_of_a_process_whose_id_was_given_again_is_swept(place: Path) -> None:
    """This process's id with another start time is another process."""
    place.mkdir(mode=0o700)
    pid, start = this_process()
    (place / f"engine.{pid}.{start - 1}").touch()
    (place / "no-socket.txt").touch()
    with Server(rt=RT, name="engine", directory=place):
        assert {path.name for path in place.iterdir()} == {f"engine.{pid}.{start}", "no-socket.txt"}


def test_one_process_serves_a_name_once(place: Path) -> None:
    """Until it stops; another name is free."""
    with Server(rt=RT, name="engine", directory=place) as server, Server(rt=RT, name="other", directory=place):
        with pytest.raises(UsageError, match=rf"'engine' is served by process {os.getpid()} already"):
            Server(rt=RT, name="engine", directory=place)
        server.stop()
        with Server(rt=RT, name="engine", directory=place):
            pass


@pytest.mark.parametrize("name", ["", "a/b", "..", "a.b", "x" * 65, "ü"])
def test_a_name_that_is_no_plain_word_is_refused(place: Path, name: str) -> None:
    """It becomes part of a file's name."""
    with pytest.raises(UsageError, match="is no name to meet by"):
        Server(rt=RT, name=name, directory=place)


@pytest.mark.parametrize("mode", [0o755, 0o770, 0o711, 0o500])
def test_a_directory_that_others_may_enter_is_refused(tmp_path: Path, mode: int) -> None:
    """By servers and by clients, with its mode and whose it is."""
    tmp_path.chmod(mode)
    told = rf"belongs to user {os.geteuid()}, with mode {mode:04o}; sockets are put only where"
    with pytest.raises(UsageError, match=told):
        Server(rt=RT, name="engine", directory=tmp_path)
    with pytest.raises(UsageError, match=told):
        connect("engine", rt=RT, lane="out", timeout=0, directory=tmp_path)
    tmp_path.chmod(0o700)


@pytest.mark.parametrize("kind", ["file", "link", "missing parent"])
def test_what_is_no_directory_is_refused(tmp_path: Path, kind: str) -> None:
    """A link least of all: somebody else may have put it there."""
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path)
    with pytest.raises(UsageError, match=r"is no directory to meet in: .*\. Give another one"):
        Server(rt=RT, name="engine", directory=tmp_path / kind / "x" if " " in kind else tmp_path / kind)


@pytest.mark.parametrize("others", ["directory", "server"])
def test_what_is_another_users_is_refused(place: Path, monkeypatch: pytest.MonkeyPatch, others: str) -> None:
    """A directory by its owner, a server by what the kernel says of its socket."""
    with Server(rt=RT, name="engine", directory=place):
        if others == "directory":
            monkeypatch.setattr(os, "geteuid", lambda: 12345)
            told = r"belongs to user [0-9]+, with mode 0700; .* where user 12345 alone may look"
        else:
            monkeypatch.setattr(directories, "user_of", lambda connection: 12345)
            told = r"'engine' in .* is served by user 12345\. Give a directory of your own"
        with pytest.raises(UsageError, match=told):
            connect("engine", rt=RT, lane="out", timeout=0, directory=place)
        monkeypatch.undo()


def test_a_client_of_another_user_gets_nothing(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its connection is closed without a word, and the server waits for the next one."""
    with Server(rt=RT, name="engine", directory=place) as server, Directory(place) as opened:
        monkeypatch.setattr(rendezvous, "user_of", lambda connection: 12345)
        with opened.connect("engine") as stranger:  # type: ignore[union-attr]
            for word in (rendezvous.Hello("stranger"), rendezvous.Attached()):
                stranger.send(wire.encode(word))
            with pytest.raises(Timeout, match=r"Nobody connected to 'engine' within 0\.05 s"):
                server.accept(0.05)
            with pytest.raises(ConnectionResetError):
                stranger.recv(1)
        assert server.port.lanes == ()


@pytest.mark.parametrize("words", [b"", b"garbage", b"\x81\xa4type\xa5Hello"])
def test_a_client_that_is_gone_or_talks_nonsense_leaves_no_lane(place: Path, words: bytes) -> None:
    """The next client is taken all the same, and nothing stays open behind the first."""
    with Server(rt=RT, name="engine", directory=place) as server:
        before = len(os.listdir("/proc/self/fd"))
        with Directory(place) as opened, opened.connect("engine") as connection:  # type: ignore[union-attr]
            connection.send(words)
        with pytest.raises(Timeout):
            server.accept(0)
        assert server.port.lanes == ()
        assert len(os.listdir("/proc/self/fd")) == before


def test_a_client_that_takes_its_lane_and_is_never_heard_again_leaves_no_lane(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The handshake is bounded: it says hello, and then nothing."""
    monkeypatch.setattr(rendezvous, "HANDSHAKE_S", 0.05)
    with Server(rt=RT, name="engine", directory=place) as server:
        with Directory(place) as opened, opened.connect("engine") as connection:  # type: ignore[union-attr]
            connection.send(wire.encode(rendezvous.Hello("silent")))
            with pytest.raises(Timeout):
                server.accept(0.2)
            _, fds, _, _ = socket.recv_fds(connection, 4096, 9)
            for fd in fds:
                os.close(fd)
        assert server.port.lanes == ()


@contextmanager
def accepting(place: Path) -> Iterator[Server]:
    """A server that takes clients in a thread."""
    with Server(rt=RT, name="engine", directory=place, ring_bytes=4096) as server:

        def accept() -> None:
            with suppress(PeerClosed):
                while True:
                    server.accept(60)

        task = RT.spawn(accept, name="accept")
        try:
            yield server
        finally:
            server.stop()
            task.join(30)
        assert not task.is_alive()


def test_a_stop_ends_the_accept_that_waits(place: Path) -> None:
    """At once; later ones are refused with the same sentence."""
    with accepting(place) as server, within(10):
        server.stop()
        with pytest.raises(PeerClosed, match="'engine' was stopped, and takes no more clients"):
            server.accept(30)


def test_clients_come_and_go_while_the_port_is_read(place: Path) -> None:
    """Fifty lanes, one after another: descriptors and mappings of those that ended are given back at once."""
    held = set()
    with accepting(place) as server:
        for number in range(50):
            with connect("engine", rt=RT, lane=f"{number}", timeout=30, directory=place) as connection:
                connection.writer.send(b"%d" % number, timeout=30)
            lane, message = server.port.receive(30)
            assert (lane, bytes(message.body)) == (f"{number}", b"%d" % number)
            with pytest.raises(PeerClosed, match=f"Lane '{number}' was closed by its writer"):
                server.port.receive(30)
            del connection, message
            held.add(len(os.listdir("/proc/self/fd")))
    assert max(held) <= min(held) + 2  # the accepting thread may be amid one


def test_a_close_that_found_no_room_is_tried_again_and_rings_no_foreign_descriptor(place: Path) -> None:
    """The doorbell's descriptor is given back with the first, and its number is somebody else's by then."""
    with Server(rt=RT, name="engine", directory=place, ring_bytes=1024) as server:
        accepted = RT.spawn(lambda: server.accept(30), name="accept")
        connection = connect("engine", rt=RT, lane="a", timeout=30, directory=place)
        accepted.join(30)
        sent = 0
        while connection.writer.lane.room():  # a record has 32 bytes
            connection.writer.send(b"x" * 16, timeout=0)
            sent += 1
        before = set(os.listdir("/proc/self/fd"))
        with pytest.raises(Full):
            connection.close(0.1)
        (given_back,) = before - set(os.listdir("/proc/self/fd"))
        foreign = os.memfd_create("somebody else's")
        os.dup2(foreign, int(given_back))
        for _ in range(sent):
            assert bytes(server.port.receive(30)[1].body) == b"x" * 16
        bell = connection.writer._doorbell
        assert bell is not None
        bell._words.store(bell._index, 1)  # as if the reader slept: it is to be rung
        connection.close()
        assert os.fstat(foreign).st_size == 0
        with pytest.raises(PeerClosed, match="Lane 'a' was closed by its writer"):
            server.port.receive(30)
        os.close(foreign)
        os.close(int(given_back))


def test_a_client_that_is_killed_is_told_to_the_server(children: Zygote, place: Path) -> None:
    """By name, process and last record; and the port waits for others."""
    options = {"name": "engine", "lane": "victim", "directory": str(place), "count": 10**9}
    with accepting(place) as server, children.fork("connect_and_write", **options) as child:
        assert bytes(server.port.receive(30)[1].body) == body_of(0)
        child.kill()
        with pytest.raises(PeerDied, match=rf"The writer of lane 'victim', process {child.pid}, died after record"):
            again(lambda: server.port.receive(30))
        with pytest.raises(Timeout):
            server.port.receive(0)


def test_without_a_path_the_directory_is_this_users_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In XDG_RUNTIME_DIR where there is one, else in the temporary folder with the user's id."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with Directory() as opened:
        assert opened.path == tmp_path / "omni_ipc"
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    monkeypatch.setattr(directories.tempfile, "gettempdir", lambda: str(tmp_path))
    with Directory() as opened:
        assert opened.path == tmp_path / f"omni_ipc.{os.geteuid()}"
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o700}


def test_a_start_that_another_process_holds_up_is_told(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lock of the directory is held for microseconds; one that is stopped meanwhile is named as the cause."""
    monkeypatch.setattr(directories, "_LOCK_S", 0.03)
    with Directory(place) as opened, opened._locked(RT):
        with pytest.raises(Timeout, match=r"has held the lock of .* for 0\.03 s\. Look for one that is stopped: fuser"):
            Server(rt=RT, name="engine", directory=place)
