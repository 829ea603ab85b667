"""Faults that a soak survived: in sum, and the last ones in full."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from omni_ipc.accounts import Survived
from omni_ipc.report.quantities import duration
from omni_ipc.report.soak.story import is_silent, of_counts

MOST_LISTED = 200
_MOST_TOLD = 4


class Kind(NamedTuple):
    """All faults of one kind."""

    letter: str
    fault: str
    many: int
    half: str  # of them recovered within that
    slowest: str
    silent: int  # without any result after them
    told: str  # how often which class of error


def by_kind(faults: Sequence[Survived]) -> Iterator[Kind]:
    """Sum faults up, those that were most often put in first."""
    for kind, many in Counter(fault.fault for fault in faults).most_common():
        those = [fault for fault in faults if fault.fault == kind]
        times = sorted(fault.recovered_s for fault in those if fault.recovered_s is not None)
        yield Kind(
            letter=letter(kind),
            fault=kind,
            many=many,
            half=duration(times[(len(times) - 1) // 2]) if times else "",
            slowest=duration(times[-1]) if times else "",
            silent=sum(is_silent(fault) for fault in those),
            told=_told(word.partition(":")[0] for fault in those for word in fault.told),
        )


def listed(faults: Sequence[Survived]) -> Iterator[tuple[str, ...]]:
    """Give the last faults: when, what, to whom, when the next result came, who was told what."""
    for fault in faults[-MOST_LISTED:]:
        yield duration(fault.at_s), fault.fault, fault.target, _recovered(fault), _told(fault.told)


def letter(kind: str) -> str:
    """Give the letter that stands for a kind of fault in pictures."""
    return kind[:1].upper()


def told(fault: Survived) -> str:
    """Tell a fault in one line."""
    after = "" if fault.recovered_s is None else "after "
    return f"{duration(fault.at_s)}: {fault.fault} {fault.target}, next result {after}{_recovered(fault)}"


def _recovered(fault: Survived) -> str:
    if fault.recovered_s is not None:
        return duration(fault.recovered_s)
    return "not before the end" if fault.cut_off else "never"


def _told(words: Iterable[str]) -> str:
    counts = Counter(words).most_common()
    kept = of_counts(dict(counts[:_MOST_TOLD])) or "nobody"
    others = sum(count for _, count in counts[_MOST_TOLD:])
    return f"{kept}, {others:,} others" if others else kept
