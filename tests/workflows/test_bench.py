"""The bench: it measures what it says, names what it leaves out, and leaves nothing behind."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from omni_ipc.cli.app import app
from omni_ipc.errors import EnvironmentMissing, UsageError
from omni_ipc.workflows.bench import goals, measures, pair, plot, tables, transport
from omni_ipc.workflows.bench.measures import Measure
from omni_ipc.workflows.bench.rows import Figure, Results, Row
from omni_ipc.workflows.bench.subject import Payload, Work
from omni_ipc.workflows.bench.transport import Comparison, Entry, Plan, compare
from tests.support.commands import Command

pytestmark = pytest.mark.alone  # it measures, and names what it leaves in /dev/shm

TINY = Plan(total_s=0, case_s=0.002, idle_s=0.05)
KERNEL = (Measure.LATENCY, Measure.RATE, Measure.IDLE)


def run(*entries: Entry, sizes: tuple[int, ...] = (64, 4096)) -> Comparison:
    """Compare a few subjects as quickly as can be."""
    return compare(TINY, subjects=entries, sizes=sizes, progress=lambda *_: None)


def results_with(**p50: float) -> Results:
    """Make results of one repetition."""
    results = Results()
    keys = {
        "ours_64": (goals.SPINNING, "copy", 64),
        "pipe_64": (goals.PIPE, "copy", 64),
        "ours_1m": (goals.SPINNING, "view", 1 << 20),
        "fresh_1m": (goals.FRESH, "view", 1 << 20),
        "loan_64": (goals.SPINNING, "loan", 64),
        "loan_8m": (goals.SPINNING, "loan", 8 << 20),
        "region": (goals.SEAM, "region", 0),
    }
    for name, value in p50.items():
        results.add(*keys[name], {"p50": value, "p99": 2 * value})
    return results


def test_every_part_of_the_transport_and_of_the_limits_is_measured() -> None:
    """Each subject gives each figure at each size; none is left out."""
    ours = (Work.COPY, Work.VIEW, Work.LOAN, Work.BATCH)
    compared = run(
        Entry("parked", "ours:Parked", ours, KERNEL),
        Entry("spinning", "ours:Spinning", ours, (Measure.LATENCY, Measure.RATE)),
        Entry("flag", "limits:Flag", (Work.SPIN,), (Measure.LATENCY,)),
        Entry("memcpy", "limits:Memcpy", (Work.COPY,), (Measure.ALONE,)),
        Entry("seam", "seam:Seam", (Work.REGION, Work.LOCK), (Measure.ALONE,)),
    )
    assert (compared.left_out, compared.repetitions) == ({}, 1)
    found = {(row.subject, row.work, row.size_bytes, row.metric) for row in compared.results.rows()}
    both = [("parked", 64), ("parked", 4096), ("spinning", 64), ("spinning", 4096)]
    expected = {(subject, work, size, "p50") for subject, size in both for work in ("copy", "view", "loan")}
    expected |= {(subject, work, 64, "rate") for subject in ("parked", "spinning") for work in ("copy", "batch")}
    expected |= {("parked", "copy", 64, "cpu"), ("flag", "spin", 64, "p99"), ("seam", "lock", 0, "p50")}
    expected |= {("memcpy", "copy", 4096, "p50 low"), ("seam", "region", 0, "p50 high")}
    assert expected <= found
    assert all(row.value > 0 for row in compared.results.rows() if row.metric != "cpu")


@pytest.mark.parametrize(
    "path",
    [
        "pipe:Pipe",
        "mp_queue:MpQueue",
        "fresh_segment:FreshSegment",
        "zeromq:PushPull",
        pytest.param("torch_queue:TorchQueue", marks=pytest.mark.torch),
    ],
)
def test_every_other_way_is_measured_too(path: str) -> None:
    """Whole messages come through, and what it needs goes with it."""
    if path.startswith("zeromq"):
        pytest.importorskip("zmq", reason="pip install 'omni-ipc[bench]'")
    compared = run(Entry("other", path, (Work.COPY,), (Measure.LATENCY,)))
    assert compared.left_out == {}
    assert compared.results.sizes() == [64, 4096]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("DiesInTheMiddle", "latency at 64 B: a process of it died"),
        ("Raises", "latency at 64 B: OSError: no room at all"),
        ("Alters", "latency at 64 B: InternalError: A message of 64 bytes is not whole"),
        ("CannotBeMade", "latency at 64 B: ValueError: not at 64 bytes"),
    ],
)
def test_a_subject_that_fails_is_named_with_the_reason_and_the_others_go_on(name: str, reason: str) -> None:
    """What failed at one size is not tried at the next."""
    compared = run(
        Entry("bad", f"tests.workflows.bench_subjects:{name}", (Work.COPY,), (Measure.LATENCY,)),
        Entry("good", "pipe:Pipe", (Work.COPY,), (Measure.LATENCY,)),
    )
    assert list(compared.left_out) == ["bad, copy"]
    assert compared.left_out["bad, copy"].startswith(reason)
    assert {row.subject for row in compared.results.rows()} == {"good"}


def test_a_subject_that_is_not_installed_is_named_with_the_command_that_brings_it() -> None:
    """It is missing, not slow, and not silently gone."""
    compared = run(Entry("gone", "no_such:Subject", (Work.COPY,), KERNEL, "pip install it"))
    (reason,) = compared.left_out.values()
    assert reason == "No module named 'omni_ipc.workflows.bench.subjects.no_such'. pip install it"
    assert compared.results.rows() == []


def test_a_measurement_that_does_not_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pair gives up on it, ends both of its processes, and says so."""
    monkeypatch.setattr(pair, "_PATIENCE_S", 0.1)
    from omni_ipc.workflows.bench.subject import Case
    from tests.workflows.bench_subjects import NeverEnds

    command = pair.Command(Measure.LATENCY, Case(Work.COPY, 64, ""), 0.1)
    assert pair._carry_out(command, NeverEnds).reason == "it did not end in time"


def test_figures_are_medians_with_their_quartiles() -> None:
    """Of the repetitions, whatever their order."""
    results = Results()
    for value in (5.0, 1.0, 3.0, 2.0, 4.0):
        results.add("a", "copy", 64, {"p50": value})
    assert results.figure("a", "copy", 64, "p50") == Figure(3, 2, 4)
    assert results.rows() == [
        Row("a", "copy", 64, "p50", 3, "µs"),
        Row("a", "copy", 64, "p50 low", 2, "µs"),
        Row("a", "copy", 64, "p50 high", 4, "µs"),
    ]


def test_goals_are_ratios_and_what_was_not_measured_is_not_reached() -> None:
    """Better than the bar is reached, worse is not, on either side."""
    results = results_with(ours_64=2, pipe_64=4, ours_1m=10, fresh_1m=199, loan_64=3, loan_8m=6, region=0.2)
    verdicts = {verdict.goal.partition(":")[0]: verdict for verdict in goals.judge(goals.GOALS, results)}
    found = [(verdict.found, verdict.reached) for verdict in verdicts.values()]
    none = (None, False)
    assert found == [(0.5, True), (19.9, False), none, none, (6, False), none, none, (pytest.approx(200), True)]


def test_percentiles_are_of_the_nearest_rank() -> None:
    """Nanoseconds become microseconds of one operation."""
    assert measures._percentiles([1000 * n for n in range(1, 101)]) == {"p50": 51, "p99": 100}
    assert measures._percentiles([5000], 1000) == {"p50": 0.005, "p99": 0.005}


def test_a_message_bears_its_stamp_at_both_ends() -> None:
    """Also the smallest one."""
    payload = Payload(64)
    payload.stamp(7)
    assert measures._stamp(payload.bytes) == 7


def test_a_comparison_is_told_in_tables(omni: CliRunner) -> None:
    """Latencies with their spread, goals with what was found, and what is missing with why."""
    comparison = a_comparison()
    omni_out = omni.invoke(app, ["bench", "transport"])
    assert omni_out.exit_code == 0
    for words in ("64 B", "1 MiB", goals.PIPE, "19.9", "not measured", "gone", "pip install it", "1 repetition in 2 s"):
        assert words in omni_out.stdout, words
    assert len(list(tables.parts(comparison))) > 5


def test_rows_are_all_that_stands_in_the_json_file(omni: CliRunner, tmp_path: Path) -> None:
    """Subject, work, size, metric, value and unit, as in every bench."""
    file = tmp_path / "rows.json"
    assert omni.invoke(app, ["bench", "transport", "--quick", "--json", str(file)]).exit_code == 0
    rows = json.loads(file.read_text())
    assert [set(row) for row in rows] == [{"subject", "work", "size_bytes", "metric", "value", "unit"}] * len(rows)
    assert len(rows) == len(a_comparison().results.rows())


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_a_picture_is_drawn(ending: str, tmp_path: Path) -> None:
    """In the format that its name says."""
    pytest.importorskip("matplotlib", reason="pip install 'omni-ipc[bench]'")
    file = tmp_path / "new" / f"picture.{ending}"
    plot.draw(a_comparison().results, file)
    assert file.read_bytes()[:5] in (b"\x89PNG\r", b"<?xml")


def test_what_cannot_be_drawn_is_refused_before_it_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the name of its file, or because matplotlib is missing."""
    with pytest.raises(UsageError, match=r"no picture ends in '\.pdf' here\. Use \.png or \.svg\."):
        plot.check(Path("picture.pdf"))
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(EnvironmentMissing, match=r"pip install 'omni-ipc\[bench\]'"):
        plot.check(Path("picture.svg"))


def test_ctrl_c_ends_every_process_and_leaves_nothing(tmp_path: Path) -> None:
    """In the middle of a measurement, with memory of all kinds in use."""
    shared = set(Path("/dev/shm").iterdir())
    with Command("bench", "transport", "--quick", cwd=tmp_path) as command:
        command.interrupt_when(lambda: command.started("bench.pair seam:Seam"))
        ended = command.end()
    assert (ended.code, ended.survivors, ended.litter) == (3, [], [])
    assert set(Path("/dev/shm").iterdir()) == shared


@pytest.fixture
def omni(monkeypatch: pytest.MonkeyPatch) -> CliRunner:
    """Run the command with a comparison that is there already."""
    monkeypatch.setattr(transport, "compare", lambda *_, **__: a_comparison())
    monkeypatch.setenv("COLUMNS", "160")
    return CliRunner()


def a_comparison() -> Comparison:
    """Make one, without measuring."""
    results = results_with(ours_64=2, pipe_64=4, ours_1m=10, fresh_1m=199)
    return Comparison(
        results, goals.judge(goals.GOALS, results), {"gone": "No module named 'it'. pip install it"}, 1, 2.0
    )
