"""The bench of the output path: it measures what it says, in both ways, and leaves nothing behind."""

from __future__ import annotations

import json
from collections.abc import Iterator
from multiprocessing import resource_tracker
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from omni_ipc.cli.app import app
from omni_ipc.errors import PeerClosed, Timeout
from omni_ipc.scenarios.legacy.fresh_segments import COPIES, SegmentQueue
from omni_ipc.workflows.bench import serving, serving_tables
from omni_ipc.workflows.bench.goals import judge
from omni_ipc.workflows.bench.rows import Results
from omni_ipc.workflows.bench.serving import Entry, Plan, ServingComparison, compare
from omni_ipc.workflows.bench.serving_goals import FRESH, GOALS, OURS
from tests.support.commands import Command
from tests.support.waiting import until

pytestmark = pytest.mark.alone  # it measures, and names what it leaves in /dev/shm

TINY = Plan(total_s=0, case_s=0.01, batches=(1, 3), sizes=(3 << 19,))
MIB = 1 << 20


def test_both_ways_are_measured_and_ours_copies_once() -> None:
    """Overhead at each batch, copies counted in bytes, and requests a second; nothing is left out."""
    compared = compare(TINY, progress=lambda *_: None)
    assert (compared.left_out, compared.repetitions) == ({}, 1)
    rows = {(row.subject, row.work, row.size_bytes, row.metric): row.value for row in compared.results.rows()}
    for server, copies in ((OURS, 1.0), (FRESH, 2.0)):
        assert rows[server, "batch 1", 3 << 19, "overhead"] > 0
        assert rows[server, "batch 3", 3 << 19, "overhead"] > 0
        assert rows[server, "batch 1", 3 << 19, "copies"] == pytest.approx(copies, abs=0.01)
        assert rows[server, "null", 8, "requests"] > 0


def test_a_server_that_fails_is_named_with_the_reason_and_the_other_goes_on() -> None:
    """One that is not there is not slow, and one that raises is not silently gone."""
    servers = (
        Entry("gone", "tests.workflows.bench_servers:Missing"),
        Entry("bad", "tests.workflows.bench_servers:Raises"),
        serving.SERVERS[1],
    )
    compared = compare(TINY._replace(batches=(1,)), servers=servers, progress=lambda *_: None)
    assert "cannot be imported" in compared.left_out.pop("gone")
    assert set(compared.left_out.values()) == {"OSError: no room at all"}
    assert {row.subject for row in compared.results.rows()} == {FRESH}


def test_goals_are_of_the_worst_batch_and_what_was_not_measured_is_not_reached() -> None:
    """At each size by itself."""
    assert [verdict.found for verdict in judge(GOALS, Results())] == [None] * 3
    found = [(verdict.found, verdict.reached) for verdict in a_comparison().verdicts]
    assert found == [(4.0, True), (4.5, False), (1.0, True)]


def test_a_comparison_is_told_in_tables_and_in_rows(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The command prints the tables, and writes the same as rows."""
    monkeypatch.setattr(serving, "compare", lambda *_, **__: a_comparison())
    monkeypatch.setenv("COLUMNS", "160")
    file = tmp_path / "rows.json"
    ended = CliRunner().invoke(app, ["bench", "serving", "--quick", "--json", str(file)])
    assert ended.exit_code == 0
    for words in (
        "outputs of 1.5 MiB",
        "requests/s of a null pipeline",
        FRESH,
        "4.5",
        "1 repetition in",
        "no room",
    ):
        assert words in ended.stdout, words
    assert len(json.loads(file.read_text())) == len(a_comparison().results.rows())
    assert len(list(serving_tables.parts(a_comparison()))) > 5


def test_ctrl_c_ends_every_process_and_leaves_nothing(tmp_path: Path) -> None:
    """Workers, their forked twins, and what lies in /dev/shm."""
    shared = set(Path("/dev/shm").iterdir())
    with Command("bench", "serving", "--quick", cwd=tmp_path) as command:
        command.interrupt_when(lambda: command.started("serving.hosted"))
        ended = command.end()
        until(lambda: not command.started("omni_ipc"))  # a worker ends when it sees that its engine has
    assert (ended.code, ended.litter) == (3, [])
    assert set(Path("/dev/shm").iterdir()) == shared


@pytest.fixture(scope="module")
def _tracker() -> None:
    """Start the process that Python sweeps segments with; it lives as long as this one."""
    resource_tracker.ensure_running()


@pytest.fixture
def old(_tracker: None) -> Iterator[SegmentQueue[str]]:
    queue = SegmentQueue[str]("omni_ipc.test")
    yield queue
    queue.join()


def test_the_old_way_copies_what_is_large_twice_and_leaves_no_segment(old: SegmentQueue[str]) -> None:
    """Small arrays are pickled with their message; the trees are the same on both sides."""
    writer, before = old.writer(), COPIES.nbytes
    tree = {"large": [np.arange(MIB, dtype=np.uint16)], "small": (np.arange(3), "text")}
    writer.send("message", tree)
    received = old.receive(30)
    assert received.message == "message"
    got = received.unpack()
    assert (got["large"][0] == tree["large"][0]).all()
    assert got["small"][0].tolist() == [0, 1, 2]
    assert COPIES.nbytes - before == 2 * 2 * MIB
    assert not list(Path("/dev/shm").glob("omni_ipc.test*"))


def test_the_old_way_ends_when_all_its_writers_have_closed(old: SegmentQueue[str]) -> None:
    """Or its reader has; an empty queue times out."""
    writers = [old.writer(), old.writer()]
    with pytest.raises(Timeout):
        old.receive(0.01)
    for writer in writers:
        writer.close()
    with pytest.raises(PeerClosed):
        old.receive(30)


def a_comparison() -> ServingComparison:
    """Make one, without measuring."""
    results = Results()
    for nbytes, gains in ((3 << 19, (4.0, 7.0, 9.0)), (32 << 20, (6.0, 4.5, 8.0))):
        for batch, gain in zip((1, 8, 32), gains, strict=True):
            results.add(OURS, f"batch {batch}", nbytes, {"overhead": 100.0})
            results.add(FRESH, f"batch {batch}", nbytes, {"overhead": 100.0 * gain})
        results.add(OURS, "batch 1", nbytes, {"copies": 1.0})
    results.add(OURS, "null", 8, {"requests": 9000.0})
    return ServingComparison(results, judge(GOALS, results), {"gone": "no room"}, 1, 2.0)
