"""`omni-ipc stress report`: accounts in, one page and one result out."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from omni_ipc.accounts import Account
from omni_ipc.errors import UsageError
from omni_ipc.histograms import Histogram
from tests.support.accounts import LOST, PLAIN, account
from tests.support.in_process import Omni


@pytest.fixture
def report(omni: Omni, monkeypatch: pytest.MonkeyPatch) -> Omni:
    """Run the command on a terminal that is wide enough for its longest line."""
    monkeypatch.setenv("COLUMNS", "200")
    return functools.partial(omni, "stress", "report")


NONSENSE: dict[str, dict[str, Any]] = {
    "requests": {"requests": -3},
    "outcomes": {"outcomes": {"result": -1}},
    "seconds": {"seconds": -5.0},
    "forever": {"seconds": 1e308},
    "checked": {"checked_bytes": -7},
    "recovered": {"faults": (msgspec.structs.replace(PLAIN.faults[0], recovered_s=-1.0),)},
    "bins": {"latencies": {"to 64 KiB": Histogram({2000: 1})}},
}
"""What no soak comes to."""


def keep(given: Account, file: str) -> None:
    """Keep an account as a soak does."""
    Path(file).parent.mkdir(parents=True, exist_ok=True)
    Path(file).write_bytes(msgspec.json.encode(given))


def test_a_folder_of_a_soak_becomes_a_page(report: Omni) -> None:
    """Its exit code is that of the soak, and the page is named."""
    keep(PLAIN, "mine/account.json")
    code, out, _ = report("mine", "--html", "mine.html")
    assert code == 0
    assert "✓ soak: ended well" in out
    assert "100 requests went in, and as many outcomes came out" in out
    assert "wrote mine.html: open it in a browser" in out
    assert "<title>soak: ended well</title>" in Path("mine.html").read_text()


def test_shards_become_one_result_that_can_be_read_again(report: Omni) -> None:
    """Named after their folders; a finding of one decides."""
    keep(account(defect="late_split_map"), "soak/shard-0/account.json")
    keep(account(seed=8, findings=(LOST,), defect="late_split_map"), "soak/shard-1/account.json")
    code, out, _ = report("soak/shard-0", "soak/shard-1/account.json", "--json", "all.json", "--html", "all.html")
    assert code == 1
    assert "shard-1: Request r17 has no outcome." in out
    assert "omni-ipc replay found/lost.trace.json --defect late_split_map" in out
    assert "✗ soak with late_split_map: violated" in out
    assert json.loads(Path("all.json").read_text())["result"]["requests"] == 200
    again, same, _ = report("all.json")
    assert (again, "200 requests went in" in same) == (1, True)


def test_results_of_one_name_are_told_apart_by_their_paths(report: Omni) -> None:
    """And one that is given twice counts once."""
    for place in ("a", "b"):
        keep(PLAIN, f"{place}/soak.json")
    code, out, _ = report("a/soak.json", "b/soak.json", "b/soak.json")
    assert code == 0
    assert "200 requests went in" in out
    assert "a/soak.json" in out


def test_many_findings_are_not_told_one_by_one(report: Omni) -> None:
    """The first ones are, and how many more there are."""
    keep(account(findings=(LOST,) * 30), "soak/account.json")
    code, out, _ = report("soak")
    assert code == 1
    assert out.count("Request r17") == 11
    assert "20 more findings" in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nothing"], "Cannot read the account 'nothing'"),
        (["empty"], "Cannot read the account 'empty/account.json'"),
        (["odd.json"], "'odd.json' is no account of a soak"),
        *(([f"{name}.json"], f"'{name}.json' is no account of a soak") for name in NONSENSE),
        (
            ["zoneless.json", "soak"],
            "it has begun at '2026-01-01T12:00:00', in no time zone",
        ),
        (["old.json"], "or one of another version of omni_ipc: Expected `object`, got `array`"),
        (["soak", "--html", "missing/soak.html"], "there is no folder 'missing'"),
        (["soak", "--html", "empty"], "Cannot write 'empty'"),
    ],
)
def test_what_is_in_the_way_is_told_in_a_sentence(report: Omni, words: list[str], said: str) -> None:
    """Exit code 2; and nothing is written."""
    keep(PLAIN, "soak/account.json")
    Path("empty").mkdir()
    Path("odd.json").write_text("[]")
    for name, wrong in NONSENSE.items():
        keep(account(**wrong), f"{name}.json")
    keep(account(started="2026-01-01T12:00:00"), "zoneless.json")
    kept = msgspec.to_builtins(PLAIN)
    kept["latencies"]["small"]["counts"] = [0, 60, 30]  # as it was while bins were powers of two
    Path("old.json").write_bytes(msgspec.json.encode(kept))
    code, out, err = report(*words)
    assert (code, out) == (2, "")
    assert said in err
    assert not list(Path().rglob("*.html"))


def test_a_page_that_cannot_be_written_changes_no_violation(report: Omni, monkeypatch: pytest.MonkeyPatch) -> None:
    """The result is written before, and told as what it is."""
    keep(account(findings=(LOST,)), "soak/account.json")

    def full(path: Path, *_: object) -> None:
        raise UsageError(f"Cannot write '{path}': No space left on device.")

    monkeypatch.setattr("omni_ipc.report.soak.page.write_page", full)
    code, _, err = report("soak", "--html", "soak.html", "--json", "soak.json")
    assert (code, json.loads(Path("soak.json").read_text())["exit_code"]) == (1, 1)
    assert "Cannot write 'soak.html'" in err


def test_a_full_disk_leaves_no_half_a_page(report: Omni, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the soak came to has been told before."""
    keep(PLAIN, "soak/account.json")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    code, out, err = report("soak", "--html", "soak.html")
    assert code == 2
    assert "✓ soak: ended well" in out
    assert "No space left on device" in err
    assert [path.name for path in Path().iterdir()] == ["soak"]
