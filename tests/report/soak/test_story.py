"""The sentences of an account: they say what it says, the worst first."""

from __future__ import annotations

import msgspec
import pytest

from omni_ipc.accounts import Account, Survived
from omni_ipc.records import Verdict
from omni_ipc.report.soak.faults import MOST_LISTED, by_kind, listed, told
from omni_ipc.report.soak.story import rate, sentences
from tests.support.accounts import LOST, PLAIN, account

FAULT = PLAIN.faults[0]
SILENT = msgspec.structs.replace(FAULT, fault="stop", recovered_s=None)
CUT_OFF = msgspec.structs.replace(SILENT, cut_off=True)


def story(given: Account) -> list[str]:
    return list(sentences(given))


def test_a_plain_account_is_told_in_four_sentences() -> None:
    """What went in and came out, what was checked, what was survived, what the spec said."""
    assert story(PLAIN) == [
        "100 requests went in, and as many outcomes came out, one each: 90 result, 10 aborted.",
        "5 GiB of outputs were checked by checksum.",
        "1 fault: 1 kill; the next result came after 1.5 s at most.",
        "4 recordings, 900 steps of AsyncOutput: 3 accepted, 1 inconclusive.",
    ]


def test_the_worst_is_told_first() -> None:
    """A finding, then why it ended, then what keeps it from a clean verdict."""
    told = story(
        account(findings=(LOST, LOST), interrupted="Ctrl-C", reasons=("no worker was killed",), notes=("no Java",))
    )
    assert told[:3] == [
        "2 findings; the first one, after 40 s: Request r17 has no outcome.",
        "It ended after 1 min of 1 min: Ctrl-C.",
        "no worker was killed",
    ]
    assert told[-1] == "no Java"


def test_errors_that_were_to_come_are_told_from_the_others() -> None:
    """Who reads of errors in a soak that ended well asks first what they were."""
    told = story(account(outcomes={"result": 90, "error": 10}, due_errors=8))
    due_told = "Of 10 errors 8 were to come: asked for, or of a pipeline that slept"
    assert told[1] == f"{due_told}; the other 2 came of faults that were put in."
    assert len(told) == len(story(PLAIN)) + 1
    due = {"outcomes": {"error": 10}, "due_errors": 8}
    told = story(account(**due, faults=(), interrupted="the device is lost", findings=(LOST,)))
    assert any(each.endswith("; the other 2 came of what ended the soak or are among the findings.") for each in told)
    assert "Of 8 errors 8 were to come: asked for, or of a pipeline that slept." in story(
        account(outcomes={"error": 8}, due_errors=8)
    )


def test_memory_is_told_where_it_is_known_what_there_was_to_be() -> None:
    """What was taken beside what might be; accounts of before say nothing of it."""
    told = story(account(memory_bytes=2 << 30, taken_bytes=300 << 20))
    assert told[2] == "The processes took 300 MiB of memory at most, shared memory counted once, of 2 GiB."
    assert len(told) == len(story(PLAIN)) + 1
    there = msgspec.structs.replace(PLAIN.machine, device="cuda")
    told = story(account(memory_bytes=2 << 30, taken_bytes=3 << 30, machine=there))
    assert told[2].endswith("shared memory counted once, the device's libraries included; of 2 GiB without.")


def test_a_request_without_an_outcome_is_seen() -> None:
    """In and out are never said to be equal if they are not."""
    assert story(account(requests=101))[0].startswith("101 requests went in, but 100 outcomes came out: 90 result")
    assert story(account(requests=0, outcomes={}))[0].startswith("No request went in, so nothing was shown. Soak for")
    assert story(account(requests=0, outcomes={}, interrupted="Gone"))[1] == "No request went in, so nothing was shown."
    assert account(requests=101).verdict is account(requests=99).verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize("end", ["Choose another folder.", "Did you mean 'cpu'?"])
def test_a_reason_that_is_a_sentence_is_ended_once(end: str) -> None:
    """No full stop is put behind one."""
    assert story(account(interrupted=f"It cannot be. {end}"))[0].endswith(f": It cannot be. {end}")


def test_outcomes_that_never_came_are_not_told() -> None:
    """And those that did, in words."""
    told = story(account(outcomes={"result": 99, "timed_out": 1, "shut_down": 0}))[0]
    assert told.endswith("one each: 99 result, 1 timed out.")


@pytest.mark.parametrize(
    ("faults", "end"),
    [
        ((FAULT, SILENT), "the next result came after 1.5 s at most; no result came after 1 of them."),
        ((SILENT,), "no result came after any of them."),
        ((CUT_OFF, FAULT), "came after 1.5 s at most; the soak ended before one could come after 1 of them."),
        ((CUT_OFF,), "1 fault: 1 stop; the soak ended before one could come after 1 of them."),
        ((SILENT, CUT_OFF), "no result came after 1 of them; the soak ended before one could come after 1 of them."),
    ],
)
def test_a_fault_that_nothing_came_after_is_not_passed_over(faults: tuple[Survived, ...], end: str) -> None:
    """The slowest recovery is not the slowest if one never ended; of what the end cut off nobody knows."""
    assert any(sentence.endswith(end) for sentence in story(account(faults=faults)))


def test_faults_are_summed_up_by_kind() -> None:
    """The most frequent first; who was told what, the most frequent first."""
    odd = msgspec.structs.replace(
        FAULT, told=("PeerDied: worker 7 died.", *(f"odd {number}" for number in range(9))), recovered_s=0.5
    )
    kill, stop = by_kind((FAULT, SILENT, CUT_OFF, odd))
    assert (kill.fault, kill.letter, kill.many, kill.silent) == ("kill", "K", 2, 0)
    assert (kill.half, kill.slowest) == ("500 ms", "1.5 s")
    assert kill.told == "3 PeerDied, 1 odd 0, 1 odd 1, 1 odd 2, 6 others"
    assert (stop.half, stop.slowest, stop.many, stop.silent) == ("", "", 2, 1)


def test_the_last_faults_are_listed() -> None:
    """As many as somebody may read."""
    rows = list(listed([*(FAULT,) * MOST_LISTED, CUT_OFF, SILENT]))
    assert len(rows) == MOST_LISTED
    assert rows[-2] == ("20 s", "stop", "worker 0", "not before the end", "2 PeerDied")
    assert rows[-1] == ("20 s", "stop", "worker 0", "never", "2 PeerDied")


@pytest.mark.parametrize(("fault", "end"), [(FAULT, "after 1.5 s"), (SILENT, "never"), (CUT_OFF, "not before the end")])
def test_a_fault_is_told_in_one_line(fault: Survived, end: str) -> None:
    """Where the pointer is, and while it runs."""
    assert told(fault) == f"20 s: {fault.fault} worker 0, next result {end}"


def test_a_rate_needs_time() -> None:
    """An account of the first moment has none."""
    assert rate(PLAIN) == "1.65/s"
    assert rate(account(seconds=0.0)) == "none yet"
