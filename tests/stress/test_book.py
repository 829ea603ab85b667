"""The account while it is kept: what must not be becomes a finding, once, and what was measured is added up."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omni_ipc.accounts import Validation
from omni_ipc.histograms import Histogram
from omni_ipc.records import Verdict
from omni_ipc.serving.results import Outcome
from omni_ipc.stress.book import LOST, MOST_SAMPLES, Around, Book
from omni_ipc.stress.ledger import Ledger
from omni_ipc.stress.settings import SoakConfig
from tests.support.accounts import MACHINE, sample

MIB = 1 << 20
NOTHING = Around(tuple, tuple, tuple, tuple)


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    with contextlib.closing(Ledger.create()) as made:
        yield made


@pytest.fixture
def book(ledger: Ledger) -> Book:
    return Book(SoakConfig(seconds=60.0, seed=7), MACHINE, ledger)


def found(book: Book) -> list[tuple[str, str]]:
    return [(each.kind, each.message) for each in book.account().findings]


@settings(max_examples=40)
@given(st.lists(st.sampled_from(Outcome), max_size=20), st.integers(-3, 3))
def test_each_request_has_one_outcome_or_it_is_found(outcomes: list[Outcome], more: int) -> None:
    """None that is missing, and none that nobody asked for, whatever they are; and a second look finds no more."""
    with contextlib.closing(Ledger.create()) as ledger:
        book = Book(SoakConfig(seconds=60.0), MACHINE, ledger)
        ledger.add("admitted", len(outcomes) + more)
        for outcome in outcomes:
            ledger.add(outcome)
        for _ in range(2):
            book.parted(killed=False)
        told = "Requests that went in, and have no" if more > 0 else "Outcomes that came of no request"
        assert [(kind, told in message) for kind, message in found(book)] == [("outcome", True)] * bool(more)
        assert book.account().requests == len(outcomes) + more


def test_what_was_open_when_its_process_was_killed_is_lost_and_no_finding(book: Book, ledger: Ledger) -> None:
    """Nobody was left to be told; what the next process loses by itself is a finding, and is not lost."""
    ledger.add("admitted", 10)
    ledger.add(Outcome.RESULT, 7)
    book.parted(killed=True)
    assert found(book) == []
    assert book.account().outcomes == {"result": 7, LOST: 3}
    ledger.add("admitted", 2)
    book.parted(killed=False)
    ledger.add("admitted", 4)
    book.parted(killed=True)
    assert found(book) == [("outcome", "Requests that went in, and have no outcome: 2.")]
    assert book.account().outcomes == {"result": 7, LOST: 7}


def test_a_second_outcome_is_found_also_of_a_process_that_was_killed(book: Book, ledger: Ledger) -> None:
    """A death explains what is missing, and nothing that is there twice."""
    ledger.add("admitted", 2)
    ledger.add(Outcome.RESULT, 3)
    book.parted(killed=True)
    assert found(book) == [("outcome", "Outcomes that came of no request: 1.")]


@pytest.mark.parametrize(
    ("at_s", "round_s", "explained"),
    [(99.0, 98.0, False), (100.0, 98.0, True), (500.0, 98.0, True), (159.0, 101.0, True), (161.0, 101.0, False)],
)
def test_a_fault_explains_what_comes_after_it(at_s: float, round_s: float, explained: bool, book: Book) -> None:
    """Within a minute; or in the same round, however long that takes. What came before it, it does not."""
    book.around = NOTHING._replace(blows=lambda: [10.0, 100.0])
    assert book.is_explained(at_s, round_s) is explained


def test_of_many_findings_the_first_ones_are_kept_and_the_others_counted(book: Book) -> None:
    """An account that grows for days would be of no use."""
    for number in range(120):
        book.find("bytes", f"wrong {number}", at_s=book.began_s + number)
    account = book.account()
    assert [(each.at_s, each.message) for each in account.findings] == [(n, f"wrong {n}") for n in range(100)]
    assert account.notes == ("20 more findings were not kept.",)


@settings(max_examples=8)
@given(st.integers(1, 5 * MOST_SAMPLES))
def test_samples_of_a_long_soak_are_thinned_evenly_and_the_first_and_the_last_stay(count: int) -> None:
    """Back to the start is judged by these two: a last look that is thinned away would hide what is left."""
    with contextlib.closing(Ledger.create()) as ledger:
        book = Book(SoakConfig(seconds=60.0), MACHINE, ledger)
        for number in range(count):
            book.sample(sample(float(number)))
        times = [each.at_s for each in book.account().samples]
    assert (times[0], times[-1]) == (0.0, count - 1.0)
    assert min(count, MOST_SAMPLES // 2) <= len(times) <= MOST_SAMPLES
    *steps, last = [later - earlier for earlier, later in itertools.pairwise(times)] or [1.0]
    assert [*map(round, steps)] == [max([1, *map(round, steps)])] * len(steps)
    assert 0 < last <= max([1.0, *steps])


@pytest.mark.parametrize(
    ("sizes", "grew"),
    [
        ([100] * 12, False),
        ([100, 150, 120, 110] + [300] * 8, True),
        ([100, 120, 400, 110] + [300] * 8, False),  # it was as large before
        ([100] * 8 + [300, 300, 100, 300], False),  # and came back
        ([100] * 4 + [300] * 3, False),  # too few rounds to tell
        ([100] * 4 + [163] * 8, False),  # what allocators keep
    ],
)
def test_memory_that_grows_from_round_to_round_is_found(sizes: list[int], grew: bool, book: Book) -> None:
    """When the process is replaced, and once; ups and downs, and the beginning, are no growth."""
    for size in sizes:
        book.settled({"worker 0": size * MIB})
    for _ in range(2):
        book.parted(killed=True)
    assert [kind for kind, _ in found(book)] == ["leftover"] * grew
    assert not grew or "worker 0 grew from 150 MiB to 300 MiB in 12 rounds" in found(book)[0][1]


def test_what_rounds_measured_is_added_up(book: Book) -> None:
    """Region by region, in the order of their names."""
    book.measured({"worker Pack": Histogram({0: 1, 1: 2}, 0.5), "engine Take": Histogram({0: 1}, 0.1)})
    book.measured({"worker Pack": Histogram({1: 1, 2: 4}, 1.0)})
    regions = book.account().regions
    assert [*regions] == ["engine Take", "worker Pack"]
    assert regions["worker Pack"] == Histogram({0: 1, 1: 3, 2: 4}, 1.5)


def test_an_account_tells_what_recordings_came_to(book: Book, ledger: Ledger) -> None:
    """What breaks the spec is a finding at its time; each has the trace that its recordings were cut down to."""
    ledger.add("admitted")
    ledger.add(Outcome.RESULT)
    assert book.account().verdict is Verdict.ENDED_WELL
    accepted = Validation(spec="SplitMap", accepted=2, rejected=1, inconclusive=0, steps=9)
    book.around = NOTHING._replace(
        validations=lambda: (accepted,),
        traces=lambda: {"rounds/5": "found/a.trace.json"},
        broken=lambda: ((book.began_s + 5.0, "No order is allowed.", "rounds/5"),),
        failed=lambda: ("A worker could not be stopped.",),
        notes=lambda: ("One recording said nothing.",),
    )
    book.find("error", "odd", recordings="rounds/6")
    account = book.account()
    assert [(each.kind, each.trace) for each in account.findings] == [("error", None), ("spec", "found/a.trace.json")]
    assert account.findings[1].at_s == pytest.approx(5.0)
    assert (account.validations, account.notes) == ((accepted,), ("One recording said nothing.",))
    assert account.reasons == ("A worker could not be stopped.",)
    assert account.verdict is Verdict.VIOLATED
