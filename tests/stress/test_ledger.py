"""Counts in shared memory: right whoever counts, told by another process, and there when that one is dead."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omni_ipc.accounts import KINDS, STEPWISE
from omni_ipc.histograms import bin_of
from omni_ipc.serving.results import Outcome
from omni_ipc.stress.ledger import Latest, Ledger
from tests.support.documents import ROOT

KIB, MIB = 1 << 10, 1 << 20
RESULTS = st.tuples(
    st.integers(0, 1 << 31), st.floats(0, 1e4), st.floats(0, 2e3), st.booleans(), st.sampled_from([False, False, True])
)
COUNTING = """
import os, signal, sys
from omni_ipc.stress.ledger import Ledger
ledger = Ledger.attach(int(sys.argv[1]))
for _ in range(7):
    ledger.add("admitted")
ledger.result(1.0, 1.5, nbytes=100, checked=True)
ledger.put("open", 6)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    with contextlib.closing(Ledger.create()) as made:
        yield made


def test_what_a_process_had_counted_is_there_when_it_was_killed(ledger: Ledger) -> None:
    """Whatever it was at: what was admitted and has no outcome is the difference."""
    child = subprocess.run(
        [sys.executable, "-c", COUNTING, str(ledger.fd)],
        pass_fds=[ledger.fd],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        timeout=60,
        check=False,
    )
    assert child.returncode == -9
    assert [ledger.get(name) for name in ("admitted", "open", "checked_bytes", "left")] == [7, 6, 100, 0]
    assert sum(ledger.outcomes().values()) == ledger.outcomes()["result"] == 1
    assert ledger.latest == Latest(1.0, 1.5)


def test_one_that_goes_on_with_a_ledger_counts_into_the_same(ledger: Ledger) -> None:
    """By its descriptor, which it takes; each sees what the other has counted."""
    ledger.add("refused", 3)
    with contextlib.closing(Ledger.attach(os.dup(ledger.fd))) as other:
        other.add("refused", 2)
        other.add(Outcome.ABORTED)
        assert (ledger.get("refused"), other.get("refused")) == (5, 5)
    assert ledger.outcomes() == {**dict.fromkeys(Outcome, 0), "aborted": 1}


@settings(max_examples=60)
@given(st.lists(RESULTS, max_size=20))
def test_each_result_is_in_one_histogram_and_its_bytes_count_if_they_were_right(
    results: list[tuple[int, float, float, bool, bool]],
) -> None:
    """That of its kind, in the bin of its time; the latest is the one that was submitted last."""
    with contextlib.closing(Ledger.create()) as ledger:
        for nbytes, submitted_s, took_s, checked, stepwise in results:
            ledger.result(submitted_s, submitted_s + took_s, nbytes=nbytes, checked=checked, stepwise=stepwise)
        told = ledger.latencies()
        assert ledger.outcomes()["result"] == sum(each.many for each in told.values()) == len(results)
        assert told[STEPWISE].many == sum(stepwise for *_, stepwise in results)
        assert sum(each.total_s for each in told.values()) == pytest.approx(
            sum(took for _, _, took, *_ in results), abs=1e-6
        )
        assert ledger.get("checked_bytes") == sum(nbytes for nbytes, _, _, checked, _ in results if checked)
        if results:
            assert ledger.latest.submitted_s == pytest.approx(max(at for _, at, *_ in results), abs=1e-6)


@pytest.mark.parametrize(
    ("nbytes", "kind"),
    [
        (0, KINDS[0]),
        (64 * KIB, KINDS[0]),
        (64 * KIB + 1, KINDS[1]),
        (MIB, KINDS[1]),
        (16 * MIB, KINDS[2]),
        (256 * MIB, KINDS[3]),
        (256 * MIB + 1, KINDS[4]),
    ],
)
def test_a_size_says_up_to_where_it_goes(nbytes: int, kind: str, ledger: Ledger) -> None:
    """The kind is what the account shows."""
    ledger.result(5.0, 5.25, nbytes=nbytes, checked=True)
    assert [name for name, found in ledger.latencies().items() if found.counts] == [kind]


@pytest.mark.parametrize("took_us", [0, 1, 15, 16, 33, 1000, 123_456_789, 1 << 40])
def test_times_are_in_the_bins_of_accounts(took_us: int, ledger: Ledger) -> None:
    """A word each, from below a microsecond to the last one, which holds all above."""
    ledger.result(0.0, took_us * 1e-6 + 1e-9, nbytes=1, checked=True)
    assert ledger.latencies()[KINDS[0]].counts == {bin_of(took_us): 1}


def test_a_result_that_nobody_waited_for_tells_no_time(ledger: Ledger) -> None:
    """It is a result like any other, and may be the latest."""
    ledger.result(1.0, 1.5, nbytes=100, checked=True, waited=False)
    assert (ledger.get("checked_bytes"), ledger.outcomes()["result"]) == (100, 1)
    assert ledger.latest == Latest(1.0, 1.5)
    assert [(each.counts, each.total_s) for each in ledger.latencies().values()] == [({}, 0.0)] * len(KINDS)


def test_threads_count_beside_each_other(ledger: Ledger) -> None:
    """Clients of one process do, and none of it is lost."""

    def count() -> None:
        for _ in range(2_000):
            ledger.add("left")
            ledger.result(0.0, 1.0, nbytes=1, checked=True)

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [ledger.get("left"), ledger.get("checked_bytes"), ledger.outcomes()["result"]] == [8_000] * 3
    ledger.put("left", 0)
    assert ledger.get("left") == 0


def test_an_older_result_that_comes_late_is_not_the_latest(ledger: Ledger) -> None:
    """It was asked for before a fault, and proves nothing."""
    ledger.result(10.0, 11.0, nbytes=1, checked=True)
    ledger.result(9.0, 20.0, nbytes=1, checked=True)
    assert ledger.latest == Latest(10.0, 11.0)
