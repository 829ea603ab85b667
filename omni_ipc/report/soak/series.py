"""What the samples of a soak show over time: few enough lines, of few enough points, to be looked at."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from omni_ipc.accounts import Account, Sample
from omni_ipc.report.quantities import figure, size
from omni_ipc.report.soak.chart import Chart, Mark, Point, Series
from omni_ipc.report.soak.faults import letter, told

MOST_LINES = 8  # in one picture: as many as there are colours
COLUMNS = 160  # of a picture: more points could not be told apart
_GAP_S, _GAP_LOOKS = 5.0, 5  # that nobody looked: so long, and as long as so many looks take


def charts(account: Account) -> tuple[Chart, ...]:
    """Give all pictures over time of an account; none if nobody looked at its processes twice."""
    samples = account.samples
    if len(samples) < 2:
        return ()
    columns, gaps = _columns(samples), _gaps(samples)
    used = [_series("open requests", columns, lambda at: at.open), _series("slots", columns, lambda at: at.slots)]
    memory = [*_by_process(columns, lambda at: at.resident), _series("shared, of all", columns, lambda at: at.shared)]
    device = _by_process(columns, lambda at: at.device)
    whole = (
        Chart("Requests ended, a second", (Series("requests", _rates(samples)),), figure),
        Chart("In use", used, figure),
        Chart("Memory", memory, size, grain=2),
        *([Chart("Memory of the device", device, size, grain=2)] if device else []),
        Chart("Open descriptors", _by_process(columns, lambda at: at.descriptors), figure),
    )
    return tuple(
        chart._replace(series=[_interrupted(series, gaps) for series in chart.series]) if gaps else chart
        for chart in whole
    )


def marks(account: Account) -> list[Mark]:
    """Give the faults of an account as marks in its pictures."""
    return [Mark(fault.at_s, letter(fault.fault), told(fault)) for fault in account.faults]


def _gaps(samples: Sequence[Sample]) -> list[tuple[float, float]]:
    """Give from when to when nobody looked, far longer than from one look to the next."""
    apart = [later.at_s - earlier.at_s for earlier, later in itertools.pairwise(samples)]
    least_s = max(_GAP_S, _GAP_LOOKS * statistics.median(apart))
    pairs = zip(apart, itertools.pairwise(samples), strict=True)
    return [(before.at_s, after.at_s) for took_s, (before, after) in pairs if took_s > least_s]


def _interrupted(series: Series, gaps: Sequence[tuple[float, float]]) -> Series:
    """Have nothing in the middle of each gap, whatever the line would be there."""
    seen = [point for point in series.points if not any(begin < point.at_s < end for begin, end in gaps)]
    nothing = [Point((begin + end) / 2, None) for begin, end in gaps]
    return Series(series.name, sorted([*seen, *nothing], key=lambda point: point.at_s))


def _columns(samples: Sequence[Sample]) -> list[Sequence[Sample]]:
    """Divide samples into columns of the picture, by time."""
    start, lasted_s = samples[0].at_s, samples[-1].at_s - samples[0].at_s
    columns: list[list[Sample]] = [[] for _ in range(COLUMNS)]
    for sample in samples:
        place = int((sample.at_s - start) / lasted_s * COLUMNS) if lasted_s else 0
        columns[min(place, COLUMNS - 1)].append(sample)
    return [column for column in columns if column]


def _series(name: str, columns: Sequence[Sequence[Sample]], of: Callable[[Sample], float | None]) -> Series:
    """Give one line: a point a column, and a gap where there is none."""
    return Series(name, [_point(column, of) for column in columns])


def _point(column: Sequence[Sample], of: Callable[[Sample], float | None]) -> Point:
    at_s = column[len(column) // 2].at_s
    values = [value for sample in column if (value := of(sample)) is not None]
    if not values:
        return Point(at_s, None)
    return Point(at_s, sum(values) / len(values), min(values), max(values))


def _rates(samples: Sequence[Sample]) -> list[Point]:
    """Give the requests that ended in a second, over stretches of time of the same length."""
    start, lasted_s = samples[0].at_s, samples[-1].at_s - samples[0].at_s
    many = min(COLUMNS, len(samples) - 1)
    edges = [start + lasted_s * number / many for number in range(many + 1)]
    ended = list(_between(samples, edges))
    width = lasted_s / many or 1.0
    rates = [(later - earlier) / width for earlier, later in itertools.pairwise(ended)]
    return [Point(edge + width / 2, rate, rate, rate) for edge, rate in zip(edges, rates, strict=False)]


def _between(samples: Sequence[Sample], moments: Sequence[float]) -> Iterator[float]:
    """Give how many had ended at each moment, in a straight line from sample to sample."""
    place = 0
    for moment in moments:
        while place < len(samples) - 2 and samples[place + 1].at_s < moment:
            place += 1
        one, other = samples[place], samples[place + 1]
        apart = other.at_s - one.at_s
        share = min(max((moment - one.at_s) / apart, 0.0), 1.0) if apart else 1.0
        yield one.ended + (other.ended - one.ended) * share


def _by_process(columns: Sequence[Sequence[Sample]], of: Callable[[Sample], Mapping[str, int]]) -> list[Series]:
    """Give a line a process, or a group of them."""
    groups = grouped({name for column in columns for at in column for name in of(at)})

    def together(members: Sequence[str]) -> Callable[[Sample], float | None]:
        return lambda at: sum(of(at).get(name, 0) for name in members) if of(at).keys() & set(members) else None

    return [_series(group, columns, together(members)) for group, members in groups.items()]


def grouped(processes: Iterable[str]) -> dict[str, list[str]]:
    """Give each process by itself; where these are too many, those of each kind or shard together, or all."""
    names = sorted(processes)
    by = next(by for by in _GROUPS if len({by(name) for name in names}) < MOST_LINES)
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(by(name), []).append(name)
    return groups


def _kind(process: str) -> str:
    """Give "workers" of "worker 12"."""
    kind, space, _ = process.partition(" ")
    return f"{kind}s" if space else kind


def _shard(process: str) -> str:
    """Give "shard 3" of "shard 3: worker 1"; the kind of a process that is of no shard."""
    shard, colon, _ = process.partition(": ")
    return shard if colon else _kind(process)


def _all(_: str) -> str:
    return "all processes"


_GROUPS: tuple[Callable[[str], str], ...] = (str, _shard, _all)
