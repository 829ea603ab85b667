"""`omni-ipc stress soak`: what it refuses, and how it ends when somebody has seen enough."""

from __future__ import annotations

import functools
import json
import re
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from omni_ipc.records import Verdict
from omni_ipc.shards import read
from omni_ipc.stress.settings import SoakConfig
from tests.support.accounts import PLAIN, account
from tests.support.commands import Command
from tests.support.in_process import Omni


@pytest.fixture
def soak(omni: Omni, monkeypatch: pytest.MonkeyPatch) -> Omni:
    """Run the command on a terminal that is wide enough for its longest line."""
    monkeypatch.setenv("COLUMNS", "200")
    return functools.partial(omni, "stress", "soak")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--minutes", "-1"], "--minutes: -60 s is no time to soak"),
        (["--minutes", "nan"], "--minutes: nan s is no time to soak"),
        (["--minutes", "1e308"], "--minutes: inf s is no time to soak"),
        (["--fault-every", "0"], "--fault-every: 0 s is no time to soak"),
        (["--workers", "0"], "--workers: 0 is no number of workers"),
        (["--clients", "9" * 30], "is no number of clients. Give one from 1 to 10,000."),
        (["--seed", "9" * 26], f"--seed: {'9' * 26} is too large"),
        (["--memory", "0"], "--memory 0 is no size"),
        (["--memory", "nan"], "--memory nan is no size"),
        (["--memory", "1e300"], "--memory 1e+300 is no size"),
        (["--memory", "0.2"], "--memory 0.2 is too little for 1 soak of --workers 2. Give 0.32 (GiB) or more"),
        (["--memory", "0.5", "--on", "local:2"], "--memory 0.5 is too little for 2 soaks of --workers 2. Give 0.63"),
        (["--memory", "1e9"], "can be had"),
        (["--workers", "9000", "--on", "local:2"], "For 2 soaks of --workers 9000"),
        (["--faults", "kill,sotp"], "There is no fault 'sotp'. Did you mean 'stop'?"),
        (["--faults", "none,kill"], "--faults none,kill: 'none' stands alone"),
        (["--device", "cpu:1"], "There is no device 'cpu:1'"),
        (["--device", "cpu:1", "--on", "local:2"], "There is no device 'cpu:1'"),
        (["--minutes", "-1", "--on", "local:2"], "omni-ipc: --minutes: -60 s is no time to soak"),
        (["--defect", "late_split"], "There is no defect 'late_split'"),
        (["--device", "tpu"], "'tpu'"),
        (["--device", "no.such:Thing"], "--device: 'no.such:Thing' cannot be imported: No module named 'no'. Give it"),
        (["--shards", "2"], "--shards 2 needs machines. Name them, as in: --on local:2."),
        (["--on", "moon:2"], "moon"),
        (["--prometheus", "here"], "'here' is no place for metrics"),
        (["--html", "missing/soak.html"], "there is no folder 'missing'"),
        (["--out", "file"], "Cannot write 'file"),
    ],
)
def test_what_makes_no_sense_or_cannot_be_had_is_told_at_once(soak: Omni, words: list[str], said: str) -> None:
    """In a sentence, with exit code 2; no process is started, and no folder made."""
    Path("file").touch()
    code, out, err = soak(*words)
    assert (code, out) == (2, "")
    assert said in err
    assert [path.name for path in Path().iterdir()] == ["file"]


def test_options_become_what_is_asked_for(soak: Omni, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of them, in the units of the program; and what comes of it is told, written, and the exit code."""
    asked = []

    def soaked(config: object, *, on_sample: Callable[[object], object]) -> object:
        asked.append(config)
        on_sample(PLAIN)
        return account(interrupted="its device is lost")

    monkeypatch.setattr("omni_ipc.workflows.soaking.soak", soaked)
    words = (
        "--minutes 0.5 --workers 3 --seed 9 --out mine --memory 1.5 --clients 8 --fault-every 4 --defect late_split_map"
    )
    code, out, err = soak(*words.split(), "--faults", "none", "--no-perturb", "--no-record", "--html", "mine.html")
    assert code == Verdict.INCONCLUSIVE.exit_code
    assert "its device is lost" in out
    assert "100 requests, 1.67/s" in err
    assert "inconclusive" in Path("mine.html").read_text()
    assert asked == [
        SoakConfig(
            seconds=30.0,
            workers=3,
            seed=9,
            folder="mine",
            memory_bytes=3 << 29,
            clients=8,
            faults=(),
            fault_every_s=4.0,
            perturb=False,
            defect="late_split_map",
            record=False,
        )
    ]


def test_ctrl_c_ends_a_soak_with_its_account(tmp_path: Path) -> None:
    """What was done so far is told, written and drawn; the metrics were there; no process and no litter stay."""

    def has_begun() -> bool:
        return (tmp_path / "soak" / "account.json").is_file() and read(tmp_path / "soak").requests > 0

    words = (
        "--minutes 9 --workers 1 --memory 0.5 --faults none --no-record --out soak --html soak.html --json soak.json"
    )
    with Command("stress", "soak", *words.split(), cwd=tmp_path) as command:
        command.interrupt_when(has_begun)
        ended = command.end()
    assert ended.code == 3, ended
    assert "of 9 min: it was interrupted." in ended.out
    assert (ended.survivors, ended.litter) == ([], [])
    result = json.loads((tmp_path / "soak.json").read_text())["result"]
    assert result["requests"] == sum(result["outcomes"].values()) > 0
    assert not result["findings"]
    assert read(tmp_path / "soak").interrupted
    assert "it was interrupted" in (tmp_path / "soak.html").read_text()


def test_metrics_are_served_while_it_runs(soak: Omni, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the address that is told."""
    pytest.importorskip("prometheus_client", reason="pip install 'omni-ipc[prometheus]'")
    pages, addresses = [], []
    monkeypatch.setattr("omni_ipc.cli.stress_soak.complain", addresses.append)

    def soaked(_: object, *, on_sample: Callable[[object], object]) -> object:
        on_sample(PLAIN)
        (address,) = re.findall(r"http:\S+", addresses[0])
        pages.append(urllib.request.urlopen(address, timeout=30).read().decode())
        return PLAIN

    monkeypatch.setattr("omni_ipc.workflows.soaking.soak", soaked)
    assert soak("--prometheus", "0")[0] == 0
    assert "omni_ipc_soak_requests_total 100.0" in pages[0]
