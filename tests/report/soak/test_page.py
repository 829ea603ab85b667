"""The page of a soak: whole in itself, the same as the account, and alive in a real browser."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from omni_ipc.accounts import KINDS, Account
from omni_ipc.histograms import Histogram
from omni_ipc.report.soak.page import page, write_page
from omni_ipc.shards import merge
from tests.support.accounts import LOST, PLAIN, account, sample
from tests.support.browser import Browser, what_it_loads

HOSTILE = "</script><script>document.title = 'taken'</script><img src=x onerror=alert(1)>"
LATER = account(started="2026-01-01T12:00:30+00:00", seed=8, workers=3, findings=(LOST,))
SHARDS = {"shard 0": PLAIN, "shard 1": LATER}


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Browser:
    return Browser(tmp_path_factory.mktemp("profile"))


@pytest.mark.parametrize("shards", [{"soak": PLAIN}, SHARDS], ids=["one", "shards"])
def test_a_page_needs_nothing_beside_itself(shards: dict[str, Account]) -> None:
    """It loads no file and no address: one file may be sent to a colleague."""
    assert what_it_loads(page(merge(shards), shards)) == []


def test_a_page_tells_what_the_account_says() -> None:
    """Sentences, pictures, times, faults, what was left, the machine; also where no script runs."""
    text = page(account(samples=(*PLAIN.samples, sample(60.5, ended=100, slots=2))))
    assert text.count('<svg class="chart"') == 4
    assert text.count('<g class="mark">') == 4  # the fault, in each of them
    for told in (
        "ended well",
        "100 requests went in",
        "5 GiB of outputs",
        "engine Pump.Deliver",
        "seed 7",
        "1 worker<",
    ):
        assert told in text, told
    assert "<tr><td>slots in use</td><td>4</td><td>4</td><td>2</td><td>2</td></tr>" in text
    assert '<tr><td class="soft">torch</td><td>2.5.1</td></tr>' in text
    assert re.search(r"</b> kill</td><td>1</td><td>1.5 s</td><td>1.5 s</td><td></td><td>2 PeerDied</td>", text)
    assert 'id="findings"' not in text
    assert 'id="shards"' not in text


def test_what_was_held_is_compared_while_all_were_up() -> None:
    """Neither a process that is half-way up nor one that is gone says whether something grew."""
    starting = msgspec.structs.replace(sample(0.0), resident={"engine": 17 << 20}, descriptors={"engine": 5})
    gone = msgspec.structs.replace(sample(9.0, ended=9), resident={}, descriptors={}, shared=0, taken=0, open=0)
    looks = (starting, sample(1.0), sample(2.0, ended=1), sample(3.0, ended=2, resident=60 << 20), gone)
    text = page(account(samples=looks))
    memory = "<td>memory of the processes, shared memory counted once</td>"
    assert f"{memory}<td>92 MiB</td><td>112 MiB</td><td>112 MiB</td><td>0 B</td>" in text
    text = page(account(samples=looks, taken_bytes=130 << 20, memory_bytes=1 << 30))
    assert f"{memory}<td>92 MiB</td><td>130 MiB</td>" in text  # as the sentence says, of a look that was not kept
    assert "took 130 MiB of memory at most" in text
    assert "<td>open descriptors</td><td>40</td><td>40</td><td>40</td><td>0</td>" in text
    assert "Back to the start" not in page(account(samples=(starting, gone)))


def test_kinds_of_requests_are_listed_by_their_size() -> None:
    """Not by how long they took, which would be another order in each account."""
    latencies = {kind: Histogram({0: 1}, float(number)) for number, kind in enumerate(KINDS)}
    text = page(account(latencies=latencies))
    places = [text.index(f"<td>{kind}</td>") for kind in KINDS]
    assert places == sorted(places)


def test_times_are_listed_by_what_took_longest_in_all() -> None:
    """And what never happened is left out."""
    regions = {"quick": Histogram({0: 9}, 0.1), "never": Histogram(), "slow": Histogram({1: 1}, 5.0)}
    text = page(account(regions=regions))
    assert text.index("<td>slow</td>") < text.index("<td>quick</td>")
    assert "never" not in text


def test_of_many_regions_those_that_took_longest_are_shown() -> None:
    """The others are folded away."""
    regions = {f"region {number}": Histogram({1: 1}, 100.0 - number) for number in range(40)}
    shown, _, folded = page(account(regions=regions)).partition("<summary>28 more</summary>")
    assert "<td>region 11</td>" in shown
    assert "<td>region 12</td>" in folded


def test_a_page_of_shards_has_each_of_them() -> None:
    """Their seeds and verdicts, and all of them together."""
    text = page(merge(SHARDS), SHARDS)
    assert "200 requests went in" in text
    assert re.search(r"<td>shard 1</td><td>alpha</td><td>8</td><td>1 min</td><td>100</td>.*<td>violated</td>", text)
    assert re.search("2 shards<.*4 workers<.*seeds from 7<", text)
    assert "shard 1: worker 0" in text


def test_findings_that_one_trace_shows_stand_together_with_its_commands_once() -> None:
    """In the order of the first of each; those without a trace have nothing in common."""
    traces = ("one", None, "two", "one", None)
    findings = [
        msgspec.structs.replace(LOST, message=f"Number {number}.", trace=trace, recordings="rounds")
        for number, trace in enumerate(traces)
    ]
    _, *articles = page(account(findings=tuple(findings))).split('<article class="finding">')
    assert [re.findall(r"Number \d", article) for article in articles] == [
        ["Number 0", "Number 3"],
        ["Number 1"],
        ["Number 2"],
        ["Number 4"],
    ]
    assert [article.count("omni-ipc replay") for article in articles] == [1, 0, 1, 0]
    assert [article.count("recorded in") for article in articles] == [1] * 4
    assert ["one trace shows all 2" in article for article in articles] == [True, False, False, False]


def test_a_finding_is_told_with_the_command_that_shows_it() -> None:
    """A trace is replayed, and looked at; recordings are named, and where processes stood."""
    finding = msgspec.structs.replace(
        LOST, trace="my soak/lost.trace.json", recordings="my soak/recordings", stood=("worker 0: port.py:139 _await",)
    )
    text = page(account(findings=(finding,)))
    assert "omni-ipc replay &#39;my soak/lost.trace.json&#39;" in text
    assert "my soak/recordings" in text
    assert "worker 0: port.py:139 _await" in text
    assert '<span class="badge ">violated</span>' in text
    spoiled = page(account(findings=(LOST,), defect="late_split_map"))
    assert "omni-ipc replay found/lost.trace.json --defect late_split_map<" in spoiled
    assert "with the defect late_split_map" in spoiled


def test_a_soak_that_was_interrupted_at_once_has_a_page() -> None:
    """With nothing but the reason, and no picture of nothing."""
    empty = account(
        requests=0, outcomes={}, latencies={}, regions={}, samples=(), faults=(), validations=(), interrupted="Ctrl-C"
    )
    text = page(msgspec.structs.replace(empty, seconds=0.0))
    assert "It ended after 0 s of 1 min: Ctrl-C." in text
    assert '<span class="badge unsure">inconclusive</span>' in text
    assert "there is nothing to draw" in text
    assert "<svg" not in text


def hostile() -> Account:
    """An account in which every name and every message would be more than that."""
    (fault,) = PLAIN.faults
    return account(
        findings=(msgspec.structs.replace(LOST, message=HOSTILE, kind=HOSTILE, trace=HOSTILE, recordings=HOSTILE),),
        faults=(msgspec.structs.replace(fault, fault=HOSTILE, target=HOSTILE, told=(HOSTILE,)),),
        latencies={HOSTILE: Histogram({0: 1}, 1.0)},
        outcomes={HOSTILE: 100},
        machine=msgspec.structs.replace(PLAIN.machine, host=HOSTILE, versions={HOSTILE: HOSTILE}),
        samples=tuple(msgspec.structs.replace(sample(at_s), resident={HOSTILE: 5}) for at_s in (0.0, 9.0)),
        reasons=(HOSTILE,),
        interrupted=HOSTILE,
    )


def test_a_page_is_alive_in_a_browser(browser: Browser, tmp_path: Path) -> None:
    """A link to a moment shows the values there in every picture, and a line; nothing went wrong in the script."""
    path = write_page(tmp_path / "soak.html", PLAIN)
    seen, there = browser.dump(path), browser.dump(path, "#at-30")
    assert seen.count('visibility="hidden"') == there.count('visibility="visible"') == 4
    assert there.count("at 0:00:30") == 4
    slots = re.compile(r"slots <b>([^<]+)</b>")
    assert slots.findall(seen) == ["0"]
    assert slots.findall(there) == ["4"]


def test_what_others_wrote_does_not_run_in_a_browser(browser: Browser, tmp_path: Path) -> None:
    """Neither in the page nor in what its script makes of it."""
    taken = {HOSTILE: hostile(), "b": hostile()}
    seen = browser.dump(write_page(tmp_path / "hostile.html", merge(taken), taken), "#at-5")
    assert "<title>soak: violated</title>" in seen
    assert "<img" not in seen
    assert 'data-ready="4"' in seen


@pytest.mark.parametrize("size", [(1400, 900), (420, 800)], ids=["wide", "narrow"])
def test_a_page_is_drawn(browser: Browser, tmp_path: Path, size: tuple[int, int]) -> None:
    """In a wide window and in a narrow one: a picture of that size, of more than one colour."""
    picture = browser.draw(
        write_page(tmp_path / "soak.html", merge(SHARDS), SHARDS), tmp_path / "page.png", size
    ).read_bytes()
    assert (int.from_bytes(picture[16:20]), int.from_bytes(picture[20:24])) == size
    assert len(picture) > 10_000
