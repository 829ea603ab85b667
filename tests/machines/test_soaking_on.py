"""Soaks on several machines: one account of all, whatever becomes of the machines."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import deque
from pathlib import Path
from unittest.mock import MagicMock

import msgspec
import pytest

from omni_ipc import shards
from omni_ipc.accounts import Account, Finding
from omni_ipc.errors import Inconclusive, UsageError
from omni_ipc.machines import Ended, Event, Lost, Program, Retried, Said
from omni_ipc.records import Verdict
from omni_ipc.stress.settings import SoakConfig
from omni_ipc.workflows import soak_sharding
from omni_ipc.workflows.soak_shard import News, Order
from omni_ipc.workflows.soak_sharding import soak_on
from tests.machines.shard import DIES, DIES_ONCE, FAILS, FINDS, REFUSES, STAYS, STOPPED, WAITS
from tests.support.accounts import PLAIN


@pytest.fixture(autouse=True)
def _no_soak(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have shards that take no time."""
    monkeypatch.setattr(soak_sharding, "PROGRAM", "tests.machines.shard")


def soaked(folder: Path, seed: int, *, count: int | None = None) -> Account:
    return soak_on("local:2", SoakConfig(seconds=60, seed=seed, folder=str(folder)), count=count)


def test_each_shard_has_a_seed_and_all_come_to_one_account(tmp_path: Path) -> None:
    """It is also written, as that of a single soak is; those that find no machine free wait for one."""
    account = soaked(tmp_path, 1, count=3)
    assert (account.requests, account.outcomes) == (300, {"result": 270, "aborted": 30})
    assert {fault.target for fault in account.faults} == {f"shard {shard}: worker 0" for shard in range(3)}
    assert (account.verdict, account.interrupted, account.reasons) == (Verdict.ENDED_WELL, "", ())
    assert shards.read(tmp_path / shards.ACCOUNT) == account
    assert sorted(path.name for path in tmp_path.iterdir()) == [shards.ACCOUNT, "shard-0", "shard-1", "shard-2"]


def test_a_shard_that_is_lost_is_done_anew_and_that_is_a_fault_survived(tmp_path: Path) -> None:
    """The account is whole, and tells it."""
    account = soaked(tmp_path, DIES_ONCE)
    assert (account.verdict, account.requests) == (Verdict.ENDED_WELL, 200)
    (lost,) = (fault for fault in account.faults if fault.fault == soak_sharding.LOST)
    assert (lost.target, lost.told) == ("shard 0", ("its process was ended by SIGKILL",))
    assert lost.recovered_s is not None


def test_a_lost_shard_has_recovered_once_it_tells_of_a_result(tmp_path: Path) -> None:
    """And not when it is only heard of again."""
    told: list[Account] = []
    soak_on("local:1", SoakConfig(seconds=60, seed=DIES_ONCE, folder=str(tmp_path)), on_sample=told.append)
    behind = [(account.requests, account.faults[-1].recovered_s is None) for account in told if account.faults]
    assert (0, True) in behind
    assert set(behind) <= {(0, True), (100, False)}


@pytest.mark.parametrize("interrupted", ["it was interrupted", ""])
def test_a_lost_shard_that_the_end_came_to_has_been_cut_off(tmp_path: Path, interrupted: str) -> None:
    """Nobody knows whether it would have told of a result; where nobody interrupted it, there was none."""
    gathering = soak_sharding._Gathering(SoakConfig(seconds=60, folder=str(tmp_path)), 2, id)
    gathering.take(Said(1, msgspec.json.encode(News(account=PLAIN, is_whole=True))))
    gathering.take(Retried(0, "its process was ended by SIGKILL"))
    gathering.interrupted = interrupted
    lost = gathering.conclude().faults[-1]
    assert (lost.fault, lost.recovered_s, lost.cut_off) == (soak_sharding.LOST, None, bool(interrupted))


def test_while_shards_run_their_processes_are_told_together(tmp_path: Path) -> None:
    """A shard's are there from its first words to its last, to its loss, or to the end of all."""
    told: list[Account] = []
    gathering = soak_sharding._Gathering(SoakConfig(seconds=60, folder=str(tmp_path)), 4, told.append)
    later = msgspec.structs.replace(PLAIN, started="2026-01-01T12:00:30+00:00")

    def running() -> set[str]:
        gathering.take(Said(3, msgspec.json.encode(News(account=later))))  # is looked at last
        return {process.partition(":")[0] for process in told[-1].samples[-1].resident}

    for shard in range(3):
        gathering.take(Said(shard, msgspec.json.encode(News(account=PLAIN))))
    assert running() == {"shard 0", "shard 1", "shard 2", "shard 3"}
    gathering.take(Said(0, msgspec.json.encode(News(account=PLAIN, is_whole=True))))
    gathering.take(Retried(1, "its process was ended by SIGKILL"))
    gathering.take(Lost(2, "its process was ended by SIGKILL"))
    assert running() == {"shard 3"}
    gathering.take(Said(1, msgspec.json.encode(News(account=PLAIN))))
    assert running() == {"shard 1", "shard 3"}
    assert {process.partition(":")[0] for process in gathering.conclude().samples[-1].resident} == {"shard 3"}


def test_shards_on_one_machine_share_its_memory(tmp_path: Path) -> None:
    """What is asked for is what all of them may take together that run at a time."""
    config = SoakConfig(seconds=60, folder=str(tmp_path), memory_bytes=1 << 30)
    assert soak_on("local:3", config, count=2).memory_bytes == 1 << 30


def test_a_shard_that_is_asked_to_end_while_it_is_refused_ends_quietly() -> None:
    """Whoever started it has heard another shard's refusal, which is told once, and without a traceback."""
    order = msgspec.json.encode(Order(SoakConfig(seconds=60, seed=STOPPED), elsewhere=True))
    shard = subprocess.run(
        [sys.executable, "-m", "tests.machines.shard"], input=order, capture_output=True, check=False
    )
    assert (shard.returncode, shard.stdout, shard.stderr) == (130, b"", b"")


def test_a_shard_that_is_lost_too_often_counts_as_far_as_it_came(tmp_path: Path) -> None:
    """And makes the whole inconclusive."""
    account = soaked(tmp_path, DIES)
    assert not (tmp_path / "shard-0" / "rounds").exists()
    assert (account.verdict, account.requests) == (Verdict.INCONCLUSIVE, 200)
    assert account.interrupted == "shard 0: it was lost 3 times: its process was ended by SIGKILL"


def test_what_one_shard_finds_decides(tmp_path: Path) -> None:
    """Its trace lies where it is told."""
    account = soaked(tmp_path, FINDS - 1)
    (found,) = account.findings
    assert (account.verdict, found.message) == (Verdict.VIOLATED, "shard 1: Bytes differ.")
    assert found.trace is not None
    assert Path(found.trace).read_text() == "a trace"


def test_each_attempt_of_a_shard_elsewhere_keeps_its_traces_here(tmp_path: Path) -> None:
    """Though they have one name, and one machine is lost: they are brought home with the account so far, once each."""
    gathering = soak_sharding._Gathering(SoakConfig(seconds=60, folder=str(tmp_path)), 1, id)

    def take(attempt: bytes, *, is_whole: bool = False) -> None:
        there = Finding(at_s=1.0, kind="bytes", message="Odd.", trace="/tmp/elsewhere/findings/lost.trace.json")
        found = msgspec.structs.replace(PLAIN, findings=(there,))
        news = News(account=found, is_whole=is_whole, traces={"lost.trace.json": attempt})
        gathering.take(Said(0, msgspec.json.encode(news)))

    take(b"first")
    take(b"first")
    gathering.take(Retried(0, "its node is gone"))
    take(b"second", is_whole=True)
    traces = [Path(finding.trace or "") for finding in gathering.conclude().findings]
    assert [trace.read_bytes() for trace in traces] == [b"first", b"second"]
    assert sorted(path.name for path in (tmp_path / "shard-0" / "findings").iterdir()) == [
        "lost-2.trace.json",
        "lost.trace.json",
    ]


def test_what_is_refused_to_one_is_refused_to_all(tmp_path: Path) -> None:
    """It is said whom it was refused to, and why."""
    with pytest.raises(UsageError, match=r"Shard 1: There is no CUDA here\. Take --device cpu\."):
        soaked(tmp_path, REFUSES - 1)


class Scripted:
    """Machines of one place whose programs say, and become, what a script tells; behind its end is no machine left."""

    path = ("here",)

    def __init__(self, *script: Event | Exception) -> None:
        self.heard: deque[Event] = deque()
        self._script = deque(script)

    def __len__(self) -> int:
        return bool(self._script)

    def start(self, shard: int, program: Program) -> None:
        if isinstance(self._script[0], UsageError):
            raise self._script.popleft()  # type: ignore[misc]

    def wait(self, timeout_s: float) -> None:
        event = self._script.popleft()  # fails if nobody is there to be waited for
        if isinstance(event, Exception):
            raise event
        self.heard.append(event)

    def stop(self) -> None:
        pass

    kill = close = stop


FOUND = msgspec.structs.replace(PLAIN, findings=(Finding(at_s=1.0, kind="bytes", message="Odd."),))
WHOLE = Said(0, msgspec.json.encode(News(account=PLAIN, is_whole=True)))


@pytest.mark.parametrize(
    ("script", "verdict", "reason"),
    [
        (
            [Said(0, msgspec.json.encode(News(account=FOUND))), Lost(0, "its node is gone")],
            Verdict.VIOLATED,
            "No machine is left: 2 of 2 shards have not run. See to the machines, and run it again.",
        ),
        (
            [Said(0, msgspec.json.encode(News(account=PLAIN))), Inconclusive("The connection is lost."), Ended(0, 0)],
            Verdict.INCONCLUSIVE,
            "The connection is lost.",
        ),
        (
            [WHOLE, Ended(0, 0), UsageError("No process can be started.")],
            Verdict.INCONCLUSIVE,
            "No process can be started.",
        ),
        (
            [WHOLE, Ended(0, 0), Said(1, msgspec.json.encode(News(refused="There is no CUDA here."))), Ended(1, 0)],
            Verdict.INCONCLUSIVE,
            "shard 1 has no account: There is no CUDA here.",
        ),
    ],
    ids=["no machine left", "connection lost", "not started", "refused late"],
)
def test_what_shards_have_told_counts_though_it_cannot_go_on(
    script: list[Event | Exception], verdict: Verdict, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A finding decides; why it could not go on is told beside it."""
    monkeypatch.setattr(soak_sharding, "find", lambda *_: Scripted(*script))
    account = soak_on("two", SoakConfig(seconds=60, folder=str(tmp_path)), count=2)
    assert (account.verdict, account.requests, account.reasons) == (verdict, 100, (reason,))
    assert shards.read(tmp_path) == account


@pytest.mark.parametrize(
    "script", [[Inconclusive("The connection is lost."), Ended(0, 0)], [UsageError("No process can be started.")]]
)
def test_machines_on_which_nothing_was_told_say_why(
    script: list[Event | Exception], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it is: there is nothing else to tell; and a shard that did not start is not waited for."""
    monkeypatch.setattr(soak_sharding, "find", lambda *_: Scripted(*script))
    with pytest.raises(type(script[0]), match=str(script[0])):
        soak_on("two", SoakConfig(seconds=60, folder=str(tmp_path)), count=2)


def test_a_ray_that_is_gone_leaves_what_its_shards_had_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though none of its places can be given back any more, however many there are."""
    gone = ConnectionError("its head is gone")
    ray = MagicMock()
    ray.nodes.return_value = [{"Alive": True, "NodeID": name, "Resources": {"CPU": 1.0}} for name in ("a", "b", "c")]
    ray.remote.return_value.options.return_value.remote.side_effect = lambda *_: MagicMock()
    waits = iter([False])

    def wait(answers: list[object], **_: object) -> tuple[list[object], list[object]]:
        if next(waits, True):
            raise gone
        return answers[:1], answers[1:]

    ray.wait = wait
    ray.get.return_value = ([msgspec.json.encode(News(account=FOUND))], None, "")
    ray.kill.side_effect = gone
    for name in ("ray", "ray.util", "ray.util.scheduling_strategies"):
        monkeypatch.setitem(sys.modules, name, ray)
    account = soak_on("ray", SoakConfig(seconds=60, folder=str(tmp_path)))
    (reason,) = account.reasons
    assert account.verdict is Verdict.VIOLATED
    assert account.interrupted == "it could not go on, with 3 of 3 shards to come"
    assert reason.startswith("The connection to Ray is lost: its head is gone.")


def test_shards_that_fail_leave_the_account_of_the_others(tmp_path: Path) -> None:
    """With the reason; if all fail, there is none."""
    account = soaked(tmp_path, FAILS - 1)
    assert (account.verdict, account.requests) == (Verdict.INCONCLUSIVE, 100)
    assert account.reasons == ("shard 1 has no account: Nothing could be started.",)
    with pytest.raises(Inconclusive, match=r"no account: shard 0 has no account: Nothing could be started\."):
        soaked(tmp_path, FAILS, count=1)


def test_ctrl_c_stops_the_shards_and_keeps_what_they_have_done(tmp_path: Path) -> None:
    """Each is asked to end, and says what it has; one that has ended keeps it, and one has not begun."""

    def interrupt(so_far: Account) -> None:
        if so_far.requests == 300 and not so_far.interrupted:
            os.kill(os.getpid(), signal.SIGINT)

    config = SoakConfig(seconds=60, seed=WAITS - 1, folder=str(tmp_path))
    account = soak_on("local:2", config, count=4, on_sample=interrupt)
    assert (account.verdict, account.requests) == (Verdict.INCONCLUSIVE, 300)
    assert account.interrupted == (
        "it was interrupted, with 1 of 4 shards to come; shard 1: it was interrupted; shard 2: it was interrupted"
    )


def test_ctrl_c_once_more_ends_shards_that_do_not_end_with_what_they_have_said(tmp_path: Path) -> None:
    """They are killed, and nothing is left of what they took down; whoever is impatient has an account all the same."""
    pressed = []

    def interrupt(so_far: Account) -> None:
        if so_far.requests == (150 if pressed else 100) and len(pressed) < 2:
            pressed.append(so_far)
            os.kill(os.getpid(), signal.SIGINT)

    config = SoakConfig(seconds=60, seed=STAYS, folder=str(tmp_path))
    account = soak_on("local:1", config, on_sample=interrupt)
    assert (len(pressed), account.requests) == (2, 150)
    assert account.interrupted == "it was interrupted, with 1 of 1 shards to come"
    assert [path.name for path in (tmp_path / "shard-0").iterdir()] == [shards.ACCOUNT]


def test_no_shards_are_refused(tmp_path: Path) -> None:
    """Somebody must soak."""
    with pytest.raises(UsageError, match="shards must be positive, and is 0"):
        soaked(tmp_path, 1, count=0)
