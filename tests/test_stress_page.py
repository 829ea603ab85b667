"""docs/stress.md: its commands are run, and say what it says they do; the account that it reads is a real one."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from omni_ipc.accounts import Account
from omni_ipc.records import Verdict
from omni_ipc.shards import merge, read
from tests.support.accounts import PLAIN
from tests.support.documents import DOCS, check_commands

PAGE = DOCS / "stress.md"
EXAMPLE = DOCS / "examples" / "stress"
MOST_BYTES = 150_000  # of a picture


def test_every_command_says_what_the_page_says(tmp_path: Path) -> None:
    """As a reader would run them, one after the other, in the folder of the example."""
    folder = tmp_path / "reader"
    shutil.copytree(EXAMPLE, folder)
    check_commands(PAGE.read_text(), folder, width=96, quiet=True)
    assert "<title>soak: ended well</title>" in (folder / "report.html").read_text()
    assert read(folder / "all.json") == merge(dict.fromkeys(("monday", "tuesday"), read(EXAMPLE / "account.json")))


def test_the_example_is_a_whole_account() -> None:
    """With faults, recordings and regions, so that its page shows all that the document speaks of."""
    account: Account = read(EXAMPLE / "account.json")
    assert account.verdict is Verdict.ENDED_WELL
    assert {fault.fault for fault in account.faults} == {"kill", "stop", "memory", "descriptors"}
    assert account.requests == sum(account.outcomes.values()) > 5_000
    assert account.validations
    assert len(account.regions) > 30


def test_the_metrics_that_the_page_names_exist() -> None:
    """With the label that it says."""
    collector = pytest.importorskip("omni_ipc.stress.collector", reason="pip install 'omni-ipc[prometheus]'")
    named = set(re.findall(r"`(omni_ipc_soak_\w+)(?:\{([\w,]+)\})?`", PAGE.read_text()))
    assert len(named) >= 7
    served = collector.SoakCollector()
    served.show(PLAIN)
    metrics = {metric.name: metric.samples for metric in served.collect()}
    for name, labels in named:
        samples = metrics[name.removesuffix("_total")]
        assert not labels or not samples or set(labels.split(",")) <= samples[0].labels.keys(), name
    for name in re.findall(r"^\w+\(.*?(omni_ipc_soak_\w+)", PAGE.read_text(), re.MULTILINE):
        assert re.sub("_total$|_bucket$", "", name) in metrics, name


def test_the_picture_is_small_enough_to_be_kept() -> None:
    """Each clone carries it."""
    picture = DOCS / "stress.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size <= MOST_BYTES
