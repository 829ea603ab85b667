"""Accounts put together: nothing is lost, and whose it was stays known; and what is no account is told so."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omni_ipc import shards
from omni_ipc.accounts import Sample
from omni_ipc.errors import UsageError
from omni_ipc.histograms import Histogram
from omni_ipc.records import Verdict
from omni_ipc.shards import ACCOUNT, merge, read, read_all
from tests.support.accounts import LOST, MACHINE, PLAIN, account, sample

LATER = account(
    started="2026-01-01T13:00:30+01:00",  # half a minute after the plain one, told in another zone
    seed=8,
    requests=11,
    outcomes={"result": 10, "timed out": 1},
    latencies={"small": Histogram({0: 1}, 1.0), "video": Histogram({1: 2}, 2.0)},
    machine=msgspec.structs.replace(MACHINE, host="beta", cores=8, versions={"torch": "2.6", "python": "3.12.3"}),
    interrupted="its disk is full",
    findings=(LOST,),
    reasons=("no fault met a worker",),
)


def test_counts_are_added_up() -> None:
    """Requests, outcomes, times, sizes, and the recordings of each spec."""
    both = merge({"a": PLAIN, "b": LATER})
    assert (both.requests, both.workers, both.checked_bytes) == (111, 2, 10 << 30)
    assert both.outcomes == {"result": 100, "aborted": 10, "timed out": 1}
    assert both.latencies == {"small": Histogram({0: 1, 7: 60, 15: 30}, 1.0009), "video": Histogram({1: 2}, 2.0)}
    assert both.regions["engine Pump.Deliver"].counts == {0: 20, 1: 160}
    ((validation),) = both.validations
    assert (validation.accepted, validation.inconclusive, validation.steps) == (6, 2, 1800)


def test_times_count_from_the_first_start() -> None:
    """Whatever zone a shard tells them in; the whole lasted to the end of the last shard."""
    both = merge({"b": LATER, "a": PLAIN})
    assert (both.started, both.seed) == (PLAIN.started, 7)
    assert merge({"b": LATER, "a": account(seed=9)}).seed == 8
    assert (both.seconds, both.asked_s) == (90.5, 60.0)
    assert [(fault.at_s, fault.target) for fault in both.faults] == [(20.0, "a: worker 0"), (50.0, "b: worker 0")]
    assert [finding.at_s for finding in both.findings] == [70.0]


def test_what_was_wrong_with_a_shard_is_told_with_its_name() -> None:
    """A finding of one makes the whole violated."""
    both = merge({"a": PLAIN, "b": LATER})
    assert both.verdict is Verdict.VIOLATED
    assert both.findings[0].message == "b: Request r17 has no outcome."
    assert both.findings[0].trace == LOST.trace
    assert both.interrupted == "b: its disk is full"
    assert both.reasons == ("b: no fault met a worker",)


def test_a_host_counts_once() -> None:
    """Two shards on it shared its cores and its memory; what differs is told side by side."""
    machine = merge({"a": PLAIN, "b": LATER, "c": PLAIN}).machine
    assert (machine.host, machine.cores, machine.memory_bytes) == ("alpha, beta", 10, 32 << 30)
    assert machine.devices == ("Xeon",)
    assert machine.versions == {"omni_ipc": "0.1", "python": "3.12.3", "torch": "2.5.1, 2.6"}


def test_samples_are_sums_of_what_each_shard_was_last_seen_with() -> None:
    """A shard that has ended keeps what it had done, and holds nothing any more; between looks, work goes on evenly."""
    seen = merge({"a": PLAIN, "b": LATER}).samples
    assert [look.at_s for look in seen] == [0, 30, 30, 60, 60, 90]
    assert [look.ended for look in seen] == [0, 50, 50, 150, 150, 200]
    assert set(seen[2].resident) == {"a: engine", "a: worker 0", "b: engine", "b: worker 0"}
    assert set(seen[-1].resident) == set(seen[-1].descriptors) == {"b: engine", "b: worker 0"}
    assert (seen[2].shared, seen[-1].shared, seen[-1].open) == (16 << 20, 8 << 20, 3)


def test_shards_that_go_on_have_what_they_were_last_seen_with() -> None:
    """Not one alone, whichever was looked at last; one that has ended has nothing any more among them, either."""
    parts = {"a": PLAIN, "b": LATER, "c": PLAIN}
    last = merge(parts, running={"a", "b"}).samples[-1]
    assert {name.partition(":")[0] for name in last.resident} == {"a", "b"}
    assert (last.open, last.shared, last.ended) == (6, 16 << 20, 300)
    assert merge(parts, running={"a", "b"}).samples[:2] == merge(parts).samples[:2]


def test_memory_of_devices_is_told_by_shard() -> None:
    """Each worker's, until its shard has ended."""
    looks = tuple(msgspec.structs.replace(sample(at_s), device={"worker 0": 5}) for at_s in (0.0, 10.0))
    seen = merge({"a": account(samples=looks), "b": account(samples=(*looks, sample(20.0)))}).samples
    assert seen[1].device == {"a: worker 0": 5, "b: worker 0": 5}
    assert seen[-1].device == {}


def test_what_ended_between_two_looks_counts_in_part() -> None:
    """A rate does not jump because shards were not looked at at the same moments."""
    one = account(samples=(sample(0.0), sample(10.0, ended=100)))
    other = account(samples=(sample(2.5), sample(7.5, ended=50)))
    seen = merge({"a": one, "b": other}).samples
    assert [(look.at_s, look.ended) for look in seen] == [(0.0, 0), (2.5, 25), (7.5, 125), (10.0, 150)]


def test_a_single_account_stays_as_it_is() -> None:
    """It is not renamed after a shard that nobody made."""
    assert merge({"a": PLAIN}) is PLAIN


def test_no_account_is_nothing_to_put_together() -> None:
    """Every shard was lost: that is said, and not an empty account made of it."""
    with pytest.raises(UsageError, match="no shard came to an end"):
        merge({})


def test_too_many_samples_are_thinned_to_the_last_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Days of shards make no file that nobody can open."""
    monkeypatch.setattr(shards, "MOST_SAMPLES", 10)
    long = account(samples=tuple(sample(float(second), ended=second) for second in range(95)))
    seen = merge({"a": long, "b": long}).samples
    assert 5 <= len(seen) <= 10
    assert (seen[-1].at_s, seen[-1].ended) == (94.0, 188)


@given(st.lists(st.integers(0, 5), min_size=2, max_size=4))
def test_merging_loses_no_request(sizes: list[int]) -> None:
    """However many shards there are, and whether or not each was looked at."""
    parts = {
        str(number): account(requests=size, outcomes={"result": size}, samples=_looks(size))
        for number, size in enumerate(sizes)
    }
    whole = merge(parts)
    assert whole.requests == sum(whole.outcomes.values()) == sum(sizes)
    assert (whole.samples[-1].ended if whole.samples else 0) == sum(sizes)


def _looks(many: int) -> tuple[Sample, ...]:
    return tuple(sample(float(ended), ended=ended) for ended in range(1, many + 1))


def test_an_account_is_read_back(tmp_path: Path) -> None:
    """As it is kept in the folder of a soak, and as a command wrote it for machines."""
    bare, result = tmp_path / "account.json", tmp_path / "soak.json"
    bare.write_bytes(msgspec.json.encode(PLAIN))
    result.write_bytes(msgspec.json.encode({"command": "stress soak", "exit_code": 0, "result": PLAIN}))
    assert read(bare) == read(result) == PLAIN


def test_the_folder_of_a_soak_on_machines_has_its_shards(tmp_path: Path) -> None:
    """The account of all says more than theirs: which were lost. They are in the order of their numbers."""
    whole = account(reasons=("shard 3 has no account: it was lost 3 times",))
    for folder, kept in {"": whole, "shard-10": LATER, "shard-2": PLAIN}.items():
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / ACCOUNT).write_bytes(msgspec.json.encode(kept))
    (tmp_path / "shard-3").mkdir()
    read_whole, parts = read_all([tmp_path])
    assert read_whole == whole
    assert list(parts.items()) == [("shard-2", PLAIN), ("shard-10", LATER)]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "No such file"),
        (b"", "not whole JSON"),
        (msgspec.json.encode(PLAIN)[:-20], "not whole JSON"),
        (b"[1, 2]", "no account of a soak"),
        (b'{"command": "explore", "exit_code": 0, "result": {}}', "no account of a soak.*started"),
        (msgspec.json.encode(account(started="yesterday")), "no account of a soak.*yesterday"),
        (msgspec.json.encode(PLAIN).replace(b'"requests":100', b'"requests":"many"'), r"int.*\$\.requests"),
    ],
)
def test_what_is_no_account_is_told_so(content: bytes | None, told: str, tmp_path: Path) -> None:
    """With the file's name, and what is wrong with it."""
    file = tmp_path / "given.json"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(UsageError, match=f"given.json.*{told}"):
        read(file)
