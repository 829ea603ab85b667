"""The death of a peer, and its close: who is told, what, and how soon."""

from __future__ import annotations

import errno
import itertools
import os
import subprocess
import sys
from collections.abc import Callable

import pytest

from omni_ipc.errors import EnvironmentMissing, Full, PeerClosed, PeerDied, Timeout, UsageError
from omni_ipc.transport import liveness
from omni_ipc.transport.layout import Signature
from omni_ipc.transport.port import Port
from omni_ipc.transport.reader import LaneReader
from omni_ipc.transport.writer import LaneWriter
from tests.support.lanes import RT, inbound, outbound, plain_lane, plain_port, shared
from tests.support.roles import body_of
from tests.support.waiting import again, until, within
from tests.support.zygote import Zygote

SOON_S = 1.0
GONE = "it has ended; its exit status is its parent's to know"


def receive_all(port: Port, count: int) -> int:
    """Receive numbered messages, and give the sequence number of the last one."""
    sequence = -1
    for number in range(count):
        _, message = port.receive(30)
        assert bytes(message.body) == body_of(number)
        sequence = message.sequence
    return sequence


def fill(writer: LaneWriter, timeout: float) -> None:
    """Send until an error ends it."""
    for number in itertools.count():
        writer.send(body_of(number), timeout=timeout)


@pytest.mark.parametrize(
    ("code", "how"),
    [
        ("import os; os.kill(os.getpid(), 9)", "killed by SIGKILL"),
        ("import os; os.kill(os.getpid(), 40)", "killed by signal 40"),  # of real time: it has no name
        ("import os; os._exit(3)", "it ended with exit status 3"),
    ],
)
def test_the_end_of_a_child_is_told_with_its_status_which_its_parent_still_gets(code: str, how: str) -> None:
    """Looking does not reap: exit status or signal are told twice, and then to `wait` as well."""
    with subprocess.Popen([sys.executable, "-S", "-c", f"input(); {code}"], stdin=subprocess.PIPE) as child:
        assert child.stdin is not None
        start = liveness.start_time(child.pid)
        assert start is not None
        signature = Signature(child.pid, start)
        assert liveness.ending(signature) is None
        child.stdin.write(b"\n")
        child.stdin.close()
        pidfd = os.pidfd_open(child.pid)
        assert liveness.has_ended(pidfd, within_ms=10_000)
        os.close(pidfd)
        assert [liveness.ending(signature), liveness.ending(signature)] == [how, how]
        assert child.wait() in (-9, -40, 3)
        assert liveness.ending(signature) == GONE


def test_a_process_that_got_the_id_of_a_dead_one_is_not_taken_for_it() -> None:
    """The start time tells them apart."""
    start = liveness.start_time(os.getppid())
    assert start is not None
    assert liveness.ending(Signature(os.getppid(), start)) is None
    assert liveness.ending(Signature(os.getppid(), start - 1)) == GONE


def test_this_process_lives() -> None:
    """Its own signature is known without a look."""
    assert liveness.ending(liveness.this_process()) is None


def test_a_signature_that_names_no_process_is_told_as_such() -> None:
    """A hostile peer's bytes lead to a sentence, not to an odd exception."""
    for pid in (1 << 23, 2**64 - 1):
        assert liveness.ending(Signature(pid, 0)) == f"no process has the id that it signed with, {pid}"


def test_a_look_that_gets_the_last_descriptor_takes_the_peer_for_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pidfd was had, and the file with the peer's start was not: the look says nothing, and raises nothing."""

    def refuse(pid: int) -> int:
        raise OSError(errno.EMFILE, "Too many open files", f"/proc/{pid}/stat")

    parent = Signature(os.getppid(), liveness.start_time(os.getppid()) or 0)
    assert liveness.ending(parent) is None
    monkeypatch.setattr(liveness, "start_time", refuse)
    assert liveness.ending(parent) is None


def test_a_thousand_looks_hold_no_descriptor() -> None:
    """Each closes what it opened."""
    start = liveness.start_time(os.getppid())
    assert start is not None
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(1000):
        liveness.ending(Signature(os.getppid(), start))
    assert len(os.listdir("/proc/self/fd")) == before


def test_where_there_is_no_pidfd_it_is_said_and_not_guessed(monkeypatch: pytest.MonkeyPatch) -> None:
    """No descriptor left is another matter: the peer counts as alive until a look succeeds."""
    parent = Signature(os.getppid(), liveness.start_time(os.getppid()) or 0)

    def refuse(pid: int, flags: int = 0) -> int:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "pidfd_open", refuse)
    code = errno.EMFILE
    assert liveness.ending(parent) is None
    code = errno.ENOSYS
    with pytest.raises(EnvironmentMissing, match=r"pidfd_open cannot be used here .*Use Linux 5\.3 or newer"):
        liveness.ending(parent)


def test_a_reader_takes_all_that_a_killed_writer_published_and_is_told_how_it_died() -> None:
    """Its own child: lane, process, last record and signal; and then nothing is left to wait for."""
    with shared() as link, link.child("die_after_sending") as child, within(30):
        assert [bytes(link.port.receive(30)[1].body) for _ in range(3)] == [b"0", b"1", b"2"]
        with pytest.raises(PeerDied) as told:
            link.port.receive(30)
        assert f"The writer of lane 'back', process {child.pid}, died after record 2: killed by SIGKILL." in str(
            told.value
        )
        assert told.value.last_sequence == 2
        with pytest.raises(PeerClosed, match="Every writer of the port has ended"):
            link.port.receive(30)


def test_a_writer_that_ended_without_a_close_has_died(children: Zygote) -> None:
    """An exit status of 0 is no goodbye; of a process that is no child of ours the status is not known."""
    with inbound("out") as link, children.fork("write", *link.fds["out"], count=5, then="exit") as child:
        last = receive_all(link.port, 5)
        with within(SOON_S), pytest.raises(PeerDied, match=r"it has ended; its exit status is its parent's") as told:
            link.port.receive(30)
        assert told.value.last_sequence == last
        assert f"process {child.pid}," in str(told.value)


@pytest.fixture
def dying(monkeypatch: pytest.MonkeyPatch) -> list[Callable[[], object]]:
    """What peers do just before they are found dead."""
    last_deeds: list[Callable[[], object]] = []

    def die(process: Signature) -> str:
        while last_deeds:
            last_deeds.pop()()
        return "killed by SIGKILL"

    monkeypatch.setattr(liveness, "ending", die)
    return last_deeds


def test_what_a_writer_published_just_before_its_death_is_taken_first(dying: list[Callable[[], object]]) -> None:
    """The reader looks into the lane again after it has found the writer dead."""
    port, (writer,) = plain_port("out")
    dying.append(lambda: writer.send(b"last", timeout=0))
    assert bytes(port.receive(30)[1].body) == b"last"
    with pytest.raises(PeerDied, match=r"died after record 0: killed by SIGKILL\."):
        port.receive(30)


def test_what_a_reader_took_just_before_its_death_counts(dying: list[Callable[[], object]]) -> None:
    """The writer looks into the lane again after it has found the reader dead: sent equals received."""
    lane = plain_lane()
    writer, reader = LaneWriter(lane), LaneReader(lane)
    writer.close(0)

    def take_the_end() -> None:
        with pytest.raises(PeerClosed):
            reader.take()

    dying.append(take_the_end)
    assert writer.join(0) == (1, 1)


def test_a_writer_that_died_before_its_first_record_is_told_so(children: Zygote) -> None:
    """There is no last record."""
    with inbound("out") as link, children.fork("write", *link.fds["out"], count=0, then="exit"):
        with pytest.raises(PeerDied, match=r"process [0-9]+, died: it has ended") as told:
            link.port.receive(30)
        assert told.value.last_sequence is None


def test_a_look_without_waiting_tells_a_death_too(children: Zygote) -> None:
    """Whoever only polls is told within the time of a look, and until then that nothing came."""
    with inbound("out") as link, children.fork("write", *link.fds["out"], count=0, then="exit") as child:
        assert child.ended(within_ms=10_000)
        with within(SOON_S), pytest.raises(PeerDied):
            again(lambda: link.port.receive(0), despite=Timeout)


def test_a_busy_lane_does_not_hide_the_death_of_another_ones_writer(children: Zygote) -> None:
    """The port looks at its writers every 100 ms, also when it never sleeps."""
    with (
        inbound("busy", "dead") as link,
        children.fork("write_for_ever", *link.fds["busy"]),
        children.fork("write", *link.fds["dead"], count=1, then="exit") as child,
    ):
        assert child.ended(within_ms=10_000)
        with within(SOON_S), pytest.raises(PeerDied, match="writer of lane 'dead'"):
            again(lambda: link.port.receive(30))
        assert link.port.lanes == ("busy",)


def test_a_lane_whose_writer_has_not_come_yet_is_waited_for() -> None:
    """Nobody has signed: that is no death."""
    port, _ = plain_port()
    port.growing = True
    with inbound("out") as link, pytest.raises(Timeout):
        link.port.receive(0.25)
    with pytest.raises(Timeout, match=r"Nothing came on any lane within 0\.15 s"):
        port.receive(0.15)


def test_a_writer_that_waits_is_told_that_the_reader_died(children: Zygote) -> None:
    """With the first record that it did not take; and so is every later send."""
    with outbound() as link, children.fork("read", *link.fds, count=3, then="exit") as child:
        with pytest.raises(PeerDied) as told:
            fill(link.writer, 30)
        taken = link.writer.lane.counts().taken
        assert told.value.first_unread == taken
        assert f"The reader of lane 'out', process {child.pid}, died before it took record {taken}: " in str(told.value)
        with within(SOON_S), pytest.raises(PeerDied):
            fill(link.writer, 30)


def test_a_full_lane_without_waiting_tells_a_death_too(children: Zygote) -> None:
    """Whoever never waits is not told for ever that the lane is full."""
    with outbound() as link, children.fork("read", *link.fds, count=0, then="exit") as child:
        assert child.ended(within_ms=10_000)
        with within(SOON_S), pytest.raises(PeerDied, match="before it took record 0"):
            again(lambda: fill(link.writer, 0), despite=Full)


def test_a_reader_that_closes_is_told_at_once_to_a_writer_that_waits(children: Zygote) -> None:
    """It lives, but takes nothing more."""
    with outbound() as link, children.fork("read", *link.fds, count=3, then="close"):
        with pytest.raises(PeerClosed, match=r"Lane 'out' was closed by its reader before it took record [0-9]+"):
            fill(link.writer, 30)


def test_a_close_that_is_acknowledged_proves_that_sent_equals_received(children: Zygote) -> None:
    """The counts of both sides are equal, even though the reader is gone when the writer asks."""
    with outbound() as link, children.fork("read_for_ever", *link.fds) as child:
        for number in range(20):
            link.writer.send(body_of(number), timeout=30)
        with pytest.raises(UsageError, match=r"is still open, so its reader awaits more\. Close it before the join"):
            link.writer.join(0)
        link.writer.close(30)
        assert child.ended(within_ms=10_000)
        written, taken = link.writer.join(30)
        assert written == taken > 20


def test_a_close_that_nobody_acknowledges_tells_what_is_unread() -> None:
    """A reader that never came is waited for in vain: three records and the end."""
    with outbound() as link:
        for _ in range(3):
            link.writer.send(b"", timeout=0)
        link.writer.close(0)
        for timeout in (0, 0.15):
            with pytest.raises(Timeout, match=r"its reader has not taken 4 of 4 records within"):
                link.writer.join(timeout)


def test_a_reader_that_dies_before_the_end_fails_the_acknowledgement(children: Zygote) -> None:
    """The writer learns which record was not taken."""
    with outbound(1 << 16) as link, children.fork("read", *link.fds, count=2, then="pause") as child:
        for number in range(4):
            link.writer.send(body_of(number), timeout=30)
        link.writer.close(30)
        until(lambda: link.writer.lane.counts().taken == 2)
        child.kill()
        with within(SOON_S), pytest.raises(PeerDied, match="before it took record 2: it has ended") as told:
            link.writer.join(30)
        assert told.value.first_unread == 2


def test_a_forked_child_does_not_hide_the_death_of_a_writer(children: Zygote) -> None:
    """It holds every descriptor and mapping of its parent, and does nothing with them."""
    with inbound("out") as link, children.fork("fork_and_write", *link.fds["out"], count=3) as child:
        receive_all(link.port, 3)
        child.kill()
        with within(SOON_S), pytest.raises(PeerDied):
            link.port.receive(30)


def test_a_forked_child_does_not_hide_the_death_of_a_reader_nor_its_acknowledgement(children: Zygote) -> None:
    """Neither side's end is told by the end of a descriptor."""
    with outbound() as link, children.fork("read_in_a_forked_process", *link.fds) as child:
        for number in range(20):
            link.writer.send(body_of(number), timeout=30)
        child.kill()
        with within(SOON_S), pytest.raises(PeerDied):
            fill(link.writer, 30)
    with outbound() as link, children.fork("read_in_a_forked_process", *link.fds) as child:
        link.writer.send(body_of(0), timeout=30)
        link.writer.close(30)
        assert link.writer.join(30) == (2, 2)


def test_a_second_thread_that_receives_is_refused() -> None:
    """It is met in the middle of the first one's receive, which goes on."""
    port, (writer,) = plain_port("out")
    outcome = RT.future()
    task = RT.spawn(lambda: outcome.set_result(port.receive(30)), name="reader")
    with pytest.raises(UsageError, match=r"Two tasks receive from the port of out at once"):
        again(lambda: port.receive(0), despite=Timeout)
    writer.send(b"body", timeout=0)
    assert bytes(outcome.result(30)[1].body) == b"body"
    task.join(30)


def test_a_stopped_writer_is_not_taken_for_a_dead_one(children: Zygote) -> None:
    """SIGSTOP is no death: the reader waits, and goes on when the writer does."""
    with inbound("out") as link, children.fork("write_for_ever", *link.fds["out"]) as child:
        receive_all(link.port, 3)
        child.stop()
        with pytest.raises(Timeout):
            again(lambda: link.port.receive(0.25))
        child.go_on()
        assert link.port.receive(30)
