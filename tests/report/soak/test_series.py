"""What is drawn of an account: all that matters, in few lines of few points."""

from __future__ import annotations

import msgspec
import pytest

from omni_ipc.accounts import Sample
from omni_ipc.report.soak.chart import Chart
from omni_ipc.report.soak.series import COLUMNS, MOST_LINES, charts, marks
from tests.support.accounts import PLAIN, account, sample


def titled(title: str, *samples: Sample) -> Chart:
    (found,) = (chart for chart in charts(account(samples=samples)) if chart.title.startswith(title))
    return found


def names(chart: Chart) -> list[str]:
    return [series.name for series in chart.series]


def test_a_rate_is_what_ended_in_a_second() -> None:
    """Whatever the distances of the looks: all rates together are all requests."""
    looks = [sample(at_s, ended=ended) for at_s, ended in ((0.0, 0), (0.1, 90), (4.0, 100), (4.0, 110), (10.0, 300))]
    (series,) = titled("Requests", *looks).series
    assert sum(point.value or 0.0 for point in series.points) * 10.0 / len(series.points) == pytest.approx(300)


def test_days_of_looks_become_a_picture() -> None:
    """As many points as can be told apart; the extremes of each stay."""
    looks = [sample(float(second), slots=9 if second == 777 else 1) for second in range(20_000)]
    (slots,) = (series for series in titled("In use", *looks).series if series.name == "slots")
    assert len(slots.points) <= COLUMNS
    assert max(point.highest for point in slots.points) == 9


def test_memory_has_a_line_a_process_and_a_gap_while_it_was_dead() -> None:
    """And one of the shared memory."""
    dead = msgspec.structs.replace(sample(1.0), resident={"engine": 5})
    chart = titled("Memory", sample(0.0), dead, sample(2.0))
    assert names(chart) == ["engine", "worker 0", "shared, of all"]
    assert [point.value is None for point in chart.series[1].points] == [False, True, False]


def test_memory_of_a_device_is_a_picture_of_its_own_where_there_is_one() -> None:
    """A line a worker, and a gap while it was dead; on the host alone there is none."""
    looks = [msgspec.structs.replace(sample(at_s), device={"worker 0": 5}) for at_s in (0.0, 2.0)]
    chart = titled("Memory of the device", looks[0], sample(1.0), looks[1])
    assert names(chart) == ["worker 0"]
    assert [point.value for point in chart.series[0].points] == [5, None, 5]
    assert "Memory of the device" not in [chart.title for chart in charts(PLAIN)]


def test_where_nobody_looked_there_is_a_gap_in_each_line() -> None:
    """In that of the rate, too: what ended meanwhile did so nobody knows when."""
    looks = [sample(at_s, ended=int(at_s)) for at_s in (*map(float, range(60)), 106.0, 107.0)]
    for chart in charts(account(samples=tuple(looks))):
        for series in chart.series:
            nothing = [point.at_s for point in series.points if point.value is None]
            assert nothing == [82.5]
            assert not [point for point in series.points if 60 < point.at_s < 105 and point.value is not None]


@pytest.mark.parametrize(
    ("processes", "lines"),
    [
        (["engine", *(f"worker {rank}" for rank in range(32))], ["engine", "workers"]),
        (
            [f"shard {shard}: worker {rank}" for shard in range(3) for rank in range(8)],
            ["shard 0", "shard 1", "shard 2"],
        ),
        ([f"shard {shard:02}: engine" for shard in range(64)], ["all processes"]),
    ],
)
def test_many_processes_are_drawn_together(processes: list[str], lines: list[str]) -> None:
    """Those of a kind, of a shard, or all: there are no more lines than colours."""
    looks = [msgspec.structs.replace(sample(at_s), descriptors=dict.fromkeys(processes, 2)) for at_s in (0.0, 1.0)]
    chart = titled("Open descriptors", *looks)
    assert names(chart) == lines
    assert len(lines) <= MOST_LINES
    assert sum(series.points[0].value or 0.0 for series in chart.series) == 2 * len(processes)


def test_one_look_is_no_course() -> None:
    """Nothing is drawn of it."""
    assert charts(account(samples=(sample(0.0),))) == charts(account(samples=())) == ()


def test_a_fault_is_a_mark() -> None:
    """With what was done to whom, and how long it took until there was a result again."""
    ((at_s, letter, title),) = marks(PLAIN)
    assert (at_s, letter) == (20.0, "K")
    assert title == "20 s: kill worker 0, next result after 1.5 s"
