"""What is kept of a soak: who does not get on is found, what follows is recorded, and the account is on disk."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from omni_ipc import shards
from omni_ipc.accounts import Survived
from omni_ipc.stress.perturbed import RECORDINGS
from omni_ipc.stress.runtimes import folder_of
from omni_ipc.stress.stalls import Progress
from omni_ipc.workflows.evidence import Broken
from tests.workflows.soaks import Kept, kept

SURVIVED = Survived(at_s=3.0, fault="memory", target="worker 0", told=(), recovered_s=None)


@pytest.fixture
def soak(tmp_path: Path) -> Iterator[Kept]:
    with kept(tmp_path) as soak:
        yield soak


def recorded(soak: Kept, number: int) -> Path:
    """Let the processes of a round have taken something down."""
    (folder := folder_of(soak.config, number) / RECORDINGS).mkdir(parents=True)
    (folder / "engine.jsonl").write_text("{}")
    return folder


def test_what_does_not_end_is_found_with_where_the_processes_stood(soak: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once, in the round that goes on; not as long as nothing is open, or nobody waits for it."""
    monkeypatch.setattr(soak.keeper, "_requests", Progress(0.0, 0.0))
    ended = subprocess.Popen(["true"])
    ended.wait()
    soak.begin(6)
    soak.ledger.add("admitted", 3)
    soak.ledger.add("left", 3)
    soak.keeper.watch({})
    assert soak.findings() == []
    soak.ledger.add("left", -2)
    soak.keeper.watch({"worker 0": ended.pid})
    soak.keeper.watch({"worker 0": ended.pid})
    (finding,) = soak.book.account().findings
    assert (finding.kind, finding.stood) == ("health", ("worker 0 has ended",))
    assert finding.message == "Nothing ended for 0 s, with 2 requests open, in round 6."
    assert soak.ledger.get("suspicious") == 6


def test_a_process_that_says_nothing_is_given_up(soak: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if no request is open: in its start, or its end. Where there is no process, nobody is missed."""
    monkeypatch.setattr(soak.keeper, "_process", Progress(0.0, 0.0))
    soak.begin(3)
    soak.keeper.hear()
    assert soak.keeper.watch({"engine": 0}), "it has just said something"
    assert soak.keeper.watch({}), "it has ended, and the next one is yet to come"
    assert soak.findings() == []
    assert not soak.keeper.watch({"engine": 0})
    assert soak.findings() == [("health", "For 0 s nothing was heard of engine and clients, since round 3.")]
    assert soak.keeper.watch({"engine": 0}), "nobody is given up twice"


def test_a_fault_that_no_result_came_after_is_found_once(soak: Kept) -> None:
    """Whatever else came of it."""
    soak.book.around = soak.book.around._replace(unanswered=lambda: (SURVIVED,))
    soak.begin(2)
    soak.keeper.watch({})
    soak.keeper.watch({})
    sentence = "After the fault 'memory' of worker 0 no result came, in 60 s or more."
    assert soak.findings() == [("health", sentence)]


def test_rounds_behind_a_finding_are_recorded(soak: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind one of recordings, too; and one before the first round is one of the first."""
    assert soak.ledger.get("suspicious") == 0
    soak.keeper.find("health", "No engine starts.")
    assert soak.ledger.get("suspicious") == 1
    soak.begin(7)
    soak.keeper.watch({})
    assert soak.ledger.get("suspicious") == 1
    monkeypatch.setattr(soak.keeper.evidence, "broken", lambda: (Broken(1.0, "No.", None),))
    soak.keeper.watch({})
    assert soak.ledger.get("suspicious") == 7
    soak.begin(8)
    soak.keeper.watch({})
    assert soak.ledger.get("suspicious") == 7


def test_recordings_of_a_round_in_which_something_was_found_are_kept(soak: Kept) -> None:
    """Where the finding says that they are; the others are a sample, and nothing of either stays behind."""
    for number in (1, 2):
        recorded(soak, number)
    soak.begin(1)
    soak.keeper.find("bytes", "A byte is wrong.")
    soak.keeper.put_away(1)
    soak.begin(2)
    soak.keeper.rescue()
    assert folder_of(soak.config, 2).exists(), "it has not ended, and nothing was found in it"
    soak.keeper.put_away(2)
    (finding,) = soak.book.account().findings
    assert finding.recordings == soak.keeper.evidence.place(1)
    assert [path.name for path in Path(finding.recordings or "").iterdir()] == ["engine.jsonl"]
    assert not any(folder_of(soak.config, number).exists() for number in (1, 2))


def test_what_was_recorded_before_an_abrupt_end_is_rescued(soak: Kept) -> None:
    """If something was found in it; also by the very end."""
    recorded(soak, 3)
    soak.begin(3)
    soak.keeper.find("leftover", "The worker processes 7 outlived the process of their engine.")
    soak.keeper.rescue()
    assert Path(soak.keeper.evidence.place(3) or "").exists()


def test_a_worker_that_grew_is_found_when_another_one_is_in_its_place(soak: Kept) -> None:
    """Each process is judged by what it had itself: a small one behind a large one is no memory given back."""
    for number in range(24):
        was_replaced = number >= 20
        soak.begin(number, 11, 13 if was_replaced else 12)
        grown = (100 + 50 * number) << 20
        soak.book.settled({"worker 0": grown, "worker 1": 100 << 20 if was_replaced else grown})
    sentence = (
        "The memory of worker 1 grew from 250 MiB to 950 MiB in 20 rounds, each of which had given back everything."
    )
    assert soak.findings() == [("leftover", sentence)]
    soak.keeper.part(killed=True)
    assert [message.partition(" grew")[0] for _, message in soak.findings()] == [
        "The memory of worker 1",
        "The memory of worker 0",
    ]


def test_what_a_killed_process_had_open_is_lost_with_it(soak: Kept) -> None:
    """Of one that ended by itself it is found: nobody is to be left without an outcome."""
    soak.ledger.add("admitted", 5)
    soak.ledger.add("left", 2)
    soak.ledger.put("open", 3)
    soak.keeper.part(killed=True)
    assert (soak.book.lost, soak.book.unsettled, soak.findings()) == (5, 0, [])
    assert [soak.ledger.get(name) for name in ("left", "open")] == [0, 0]
    soak.ledger.add("admitted")
    soak.keeper.part(killed=False)
    assert soak.findings() == [("outcome", "Requests that went in, and have no outcome: 1.")]
    assert soak.book.unsettled == 0


def test_samples_are_taken_and_shown_when_they_are_due(soak: Kept) -> None:
    """Not at each look: about once a second; the account comes to its folder as it is shown."""
    for _ in range(3):
        soak.keeper.look_on({})
    assert len(soak.shown) == 1
    account = shards.read(Path(soak.config.folder))
    assert msgspec.structs.replace(account, seconds=0.0) == msgspec.structs.replace(soak.shown[0], seconds=0.0)


def test_a_full_disk_is_told_in_the_account(soak: Kept) -> None:
    """Which is shown, and given, all the same."""
    (Path(soak.config.folder) / shards.ACCOUNT).mkdir(parents=True)
    soak.keeper.end()
    account = soak.keeper.conclude()
    assert "no regular file" in account.interrupted
    assert soak.shown == [account]
    assert len(account.samples) == 1


def test_an_account_lasts_until_the_last_process_has_ended(soak: Kept) -> None:
    """What recordings tell comes behind that, and makes no rate lower; what is done then is told meanwhile."""
    soak.keeper.end()
    soak.book.doing = "looking at 2 recordings"
    soak.keeper.show()
    account = soak.keeper.conclude()
    assert [each.doing for each in soak.shown] == ["looking at 2 recordings", ""]
    assert soak.shown[0].seconds == account.seconds


def test_a_defect_that_does_not_show_is_no_soak_that_ended_well(tmp_path: Path) -> None:
    """It is said, unless something was found, or the soak did not come to its end."""
    for found, interrupted, told in ((False, "", 1), (True, "", 0), (False, "it was interrupted", 0)):
        with kept(tmp_path, defect="dual_writers") as soak:
            soak.book.interrupted = interrupted
            if found:
                soak.keeper.find("bytes", "A byte is wrong.")
            reasons = soak.keeper.conclude().reasons
            assert [reason.startswith("The defect 'dual_writers' did not show.") for reason in reasons] == [True] * told
