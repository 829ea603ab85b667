"""What is said of a soak's process is judged by whether a fault explains it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from omni_ipc.serving.results import Outcome
from omni_ipc.stress.messages import Began, Ended, Failed, Found, Message, Told
from omni_ipc.stress.perturbed import RECORDINGS
from omni_ipc.stress.process import ServedProcess
from omni_ipc.stress.runtimes import folder_of
from omni_ipc.workflows.oom import OomKills
from omni_ipc.workflows.soak_listening import Listener
from tests.workflows.soaks import Kept, kept

DIED = "The worker process 7 died: killed by SIGKILL"
BEGAN = Began(4, (), 10.0, False, "round 4")


class Process:
    """One that has ended, well or not."""

    def __init__(self, *, well: bool) -> None:
        self.ended_well = well
        self.closed = False

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def soak(tmp_path: Path) -> Iterator[Kept]:
    with kept(tmp_path) as soak:
        yield soak


def listening(soak: Kept, told: list[str] | None = None) -> Listener:
    """Listen on a machine whose files lie in the soak's folder: without any, its kernel counts nothing."""
    oom = OomKills(Path(soak.config.folder))
    return Listener(soak.config, soak.keeper, [].append if told is None else told.append, oom)


def count_kills(soak: Kept, count: int) -> Path:
    """Have the kernel of that machine count so many processes that it has killed for want of memory."""
    vmstat = Path(soak.config.folder) / "proc/vmstat"
    vmstat.parent.mkdir(exist_ok=True)
    vmstat.write_text(f"pgfault 7\noom_kill {count}\n")
    return vmstat


def part(listener: Listener, *, well: bool, ending: str = "was killed by SIGSEGV") -> Process:
    process = Process(well=well)
    listener.part(cast("ServedProcess", process), ending)
    return process


def told(sentence: str = "PeerDied: gone") -> Told:
    return Told(time.monotonic(), Outcome.ERROR, sentence)


def test_what_nobody_had_to_expect_is_found_unless_a_fault_explains_it(soak: Kept, tmp_path: Path) -> None:
    """The saboteur hears of it in any case."""
    heard: list[str] = []
    listener = listening(soak, heard)
    listener.take(BEGAN)
    listener.take(told())
    assert soak.findings() == [("outcome", "Somebody was told, and there was no fault: PeerDied: gone")]
    with kept(tmp_path, blows=(time.monotonic(),)) as harmed:
        listener = listening(harmed, heard)
        listener.take(told())
        assert harmed.findings() == []
    assert heard == ["PeerDied: gone"] * 2


def test_a_lost_device_ends_the_soak(tmp_path: Path) -> None:
    """It is no finding; on the host there is none to lose, and code that reads what it must not loses none."""
    gone, misread = "RuntimeError: CUDA driver error: gone", "RuntimeError: CUDA error: an illegal memory access"
    for device, sentence, lost in (
        ("cuda:0", gone, f"the device is lost: {gone}"),
        ("cuda:0", misread, ""),
        ("cpu", gone, ""),
    ):
        with kept(tmp_path, device=device) as soak:
            listener = listening(soak)
            listener.take(told(sentence))
            assert (soak.book.interrupted, len(soak.findings())) == (lost, not lost)
            listener.take(told("PeerDied: and so is whoever used it"))
            assert len(soak.findings()) == (0 if lost else 2)


def test_a_device_that_a_fault_has_lost_to_a_process_does_not_end_the_soak(tmp_path: Path) -> None:
    """What is let have no more memory or descriptors may lose its context; nor is one lost that merely had no room."""
    with kept(tmp_path / "harmed", device="cuda:0", blows=(time.monotonic(),)) as soak:
        listening(soak).take(told("RuntimeError: CUDA error: OS call failed"))
        assert (soak.book.interrupted, soak.findings()) == ("", [])
    with kept(tmp_path / "full", device="cuda:0") as soak:
        listening(soak).take(told("AcceleratorError: CUDA error: out of memory"))
        assert (soak.book.interrupted, len(soak.findings())) == ("", 1)


def test_engines_that_do_not_start_are_found_and_after_some_in_a_row_it_ends(soak: Kept) -> None:
    """Those before one that does are findings; so are the last ones, unless they ended the soak."""
    listener = listening(soak)
    failed = Failed(time.monotonic(), 5, "EnvironmentMissing: no memory")
    listener.take(failed)
    listener.take(BEGAN)
    sentence = "An engine did not start, and there was no fault: EnvironmentMissing: no memory"
    assert soak.findings() == [("health", sentence)]
    for _ in range(3):
        listener.take(failed)
    assert soak.book.interrupted == ""
    listener.take(failed)
    assert soak.book.interrupted == "no engine starts any more: EnvironmentMissing: no memory"
    listener.conclude()
    assert len(soak.findings()) == 1


def test_what_is_found_and_what_processes_take_is_passed_on(soak: Kept) -> None:
    """With the time at which it was found; a process that grows is told when it ends."""
    listener = listening(soak)
    listener.take(BEGAN)
    listener.take(Found(soak.book.began_s - 2.5, "bytes", "A byte is wrong."))
    (finding,) = soak.book.account().findings
    assert (finding.kind, finding.message, finding.at_s) == ("bytes", "A byte is wrong.", pytest.approx(-2.5))
    for number in range(12):
        listener.take(Ended(number, {"worker 0": number << 26}))
    part(listener, well=True)
    assert [kind for kind, _ in soak.findings()] == ["bytes", "leftover"]


def test_an_engine_that_somebody_else_kills_is_not_told_as_one_that_did_not_start(soak: Kept) -> None:
    """It had begun; and who has killed it is where the kernel tells it."""
    listener = listening(soak)
    listener.take(BEGAN)
    part(listener, well=False, ending="was killed by SIGKILL")
    listener.take(BEGAN)
    ((_, sentence),) = soak.findings()
    assert sentence.startswith("The process of engine and clients was killed by SIGKILL in round 4, and there was no")
    assert "`dmesg`" in sentence


def test_a_process_that_the_kernel_has_killed_ends_the_soak_without_a_finding(soak: Kept) -> None:
    """Memory ran out: that shows nothing of what ran there, and what is told behind it comes of that."""
    vmstat = count_kills(soak, 1)
    listener = listening(soak)
    listener.take(BEGAN)
    count_kills(soak, 2)
    part(listener, well=False, ending="was killed by SIGKILL")
    listener.take(told("PeerFailed: and so it goes"))
    listener.conclude()
    assert soak.findings() == []
    assert soak.book.interrupted == (
        f"memory ran out, and the kernel killed for it: 'oom_kill' in {vmstat} rose by 1. The process of engine and "
        "clients was killed by SIGKILL in round 4. Free some (see `free -m`), or ask for less: --memory, --workers"
    )


@pytest.mark.parametrize(
    "message", [Told(1.0, Outcome.ERROR, f"PeerDied: {DIED}"), Failed(1.0, 5, f"PeerDied: {DIED}")]
)
def test_a_worker_that_the_kernel_has_killed_ends_the_soak_without_a_finding(soak: Kept, message: Message) -> None:
    """Whether it served, or was about to."""
    count_kills(soak, 0)
    listener = listening(soak)
    listener.take(BEGAN)
    count_kills(soak, 1)
    listener.take(message)
    assert soak.findings() == []
    assert f" rose by 1. PeerDied: {DIED}. Free some" in soak.book.interrupted


def test_who_is_killed_while_the_kernel_has_killed_nobody_is_found(soak: Kept) -> None:
    """It counts, and so it was somebody else; a kill of long ago, or of before the soak, is no excuse."""
    count_kills(soak, 3)
    listener = listening(soak)
    listener.take(BEGAN)
    listener.take(told(f"PeerDied: {DIED}"))
    part(listener, well=False, ending="was killed by SIGKILL")
    listener.conclude()
    killed = "The process of engine and clients was killed by SIGKILL in round 4, and there was no fault"
    assert [sentence for _, sentence in soak.findings()] == [
        f"Somebody was told, and there was no fault: PeerDied: {DIED}",
        f"{killed}. See {soak.keeper.log}.",
    ]


def test_who_fails_otherwise_while_memory_is_short_is_found(soak: Kept) -> None:
    """Only SIGKILL is what the kernel sends."""
    count_kills(soak, 0)
    listener = listening(soak)
    count_kills(soak, 1)
    listener.take(told())
    assert soak.findings() == [("outcome", "Somebody was told, and there was no fault: PeerDied: gone")]
    assert soak.book.interrupted == ""


def test_a_process_that_ends_by_itself_is_found_unless_a_fault_explains_it(soak: Kept, tmp_path: Path) -> None:
    """Who dies of nothing is found at the end at the latest; its workers may not outlive it."""
    listener = listening(soak)
    assert part(listener, well=True).closed
    part(listener, well=False)
    listener.conclude()
    what = "The process of engine and clients was killed by SIGSEGV in its first round, and there was no fault"
    assert soak.findings() == [("health", f"{what}. See {soak.keeper.log}.")]
    with kept(tmp_path, blows=(time.monotonic(),)) as harmed:
        listener = listening(harmed)
        part(listener, well=False)
        listener.conclude()
        assert harmed.findings() == []


def test_requests_that_are_lost_with_an_engine_are_told_to_the_saboteur(soak: Kept) -> None:
    """Who waited for them cannot be told any more; of a process that ended well there are none."""
    heard: list[str] = []
    listener = listening(soak, heard)
    soak.ledger.add("admitted", 2)
    part(listener, well=False)
    part(listener, well=True)
    assert heard == ["lost with the engine: 2 requests"]


def test_a_worker_that_outlives_its_engine_is_found(soak: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its id, others that have ended are not named; and what was recorded until then is kept."""
    monkeypatch.setattr("omni_ipc.workflows.soak_listening.is_worker", lambda pid: pid == 12)
    waited: list[Any] = []

    def at_once(of: Any) -> str:
        waited.append(of())
        return str(waited[0])

    monkeypatch.setattr("omni_ipc.workflows.soak_listening.await_none", at_once)
    soak.begin(4, 11, 12)
    (folder_of(soak.config, 4) / RECORDINGS).mkdir(parents=True)
    part(listening(soak), well=True)
    assert Path(soak.keeper.evidence.place(4) or "").is_dir()
    assert soak.findings() == [("leftover", "The worker processes 12 outlived the process of their engine.")]
