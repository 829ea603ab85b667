"""The account of a soak while it is kept: what comes in is judged, what is measured added up, samples are thinned."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import msgspec

from omni_ipc.accounts import Account, Finding, Machine, Sample, Survived, Validation
from omni_ipc.histograms import Histogram
from omni_ipc.stress.ledger import Ledger
from omni_ipc.stress.settings import SoakConfig

MOST_SAMPLES = 2_000

LOST = "lost with the engine"
"""How requests end whose engine was killed: there is nobody left to tell them."""

_AFTER_S = 60.0  # of a fault: so long it may be felt
_MOST_FINDINGS = 100
_GROWTH_BYTES = 64 << 20  # what allocators keep
_ROUNDS = 9  # that it takes to tell growth from the ups and downs at the beginning


class Around(NamedTuple):
    """Where else an account gets its facts from.

    Args:
        blows: when faults were put in, on the monotonic clock.
        survived: how they were met; ``unanswered``: those that no result came after, though there was time for one.
        failed: why some could not be put in.
        validations: of recordings.
        traces: what recordings were cut down to: folder -> file.
        broken: findings of recordings, each with its time on the monotonic clock, and the folder.
        notes: what else there is to tell.
    """

    blows: Callable[[], Sequence[float]]
    survived: Callable[[], tuple[Survived, ...]]
    failed: Callable[[], tuple[str, ...]]
    validations: Callable[[], tuple[Validation, ...]]
    unanswered: Callable[[], tuple[Survived, ...]] = tuple
    traces: Callable[[], Mapping[str, str]] = dict
    broken: Callable[[], tuple[tuple[float, str, str | None], ...]] = tuple
    notes: Callable[[], tuple[str, ...]] = tuple


class Book:
    """Keeps the account; one task's.

    Attributes:
        began_s: on the monotonic clock.
        lost: requests whose engine was killed.
        ended_s: likewise; None while its processes run.
        interrupted: why the soak ended before its time; empty if it did not.
        doing: what it still does behind its time.
        reasons: why there is no clean verdict, beside faults that could not be put in.
        notes: what else there is to tell.
    """

    def __init__(self, config: SoakConfig, machine: Machine, ledger: Ledger) -> None:
        self._config = config
        self._machine = machine
        self._ledger = ledger
        self._started = datetime.now(UTC).isoformat(timespec="seconds")
        self.began_s = time.monotonic()
        self.lost = 0
        self.ended_s: float | None = None
        self.interrupted = ""
        self.doing = ""
        self.reasons: list[str] = []
        self.notes: list[str] = []
        self._samples: list[Sample] = []
        self._every = 1  # how manieth sample is kept
        self._seen = 0
        self._taken_bytes = 0
        self._findings: list[Finding] = []
        self._untold = 0  # findings beyond the most
        self._astray = 0  # requests of which it was found that they have no outcome, less outcomes that had no request
        self._regions: dict[str, Histogram] = {}
        self._own: dict[str, list[int]] = {}  # process -> its memory behind each of its rounds
        self.around = Around(tuple, tuple, tuple, tuple)

    def is_explained(self, at_s: float, round_s: float) -> bool:
        """Tell whether a fault explains what happened at a time, in a round that had begun at another."""
        return any(blow <= at_s and (blow >= round_s or at_s - blow < _AFTER_S) for blow in self.around.blows())

    def find(
        self,
        kind: str,
        message: str,
        *,
        at_s: float | None = None,
        recordings: str | None = None,
        stood: tuple[str, ...] = (),
    ) -> None:
        """Note something that must not be; when nothing is said of it, it is now."""
        if len(self._findings) == _MOST_FINDINGS:
            self._untold += 1
            return
        at_s = (time.monotonic() if at_s is None else at_s) - self.began_s
        self._findings.append(Finding(at_s=at_s, kind=kind, message=message, recordings=recordings, stood=stood))

    def sample(self, sample: Sample) -> None:
        """Keep a sample; of a long soak every second one, or fourth, and so on, beside the first and the latest."""
        self._latest = sample  # the only one with what is there at the end
        self._seen += 1
        self._taken_bytes = max(self._taken_bytes, sample.taken)
        if (self._seen - 1) % self._every:
            return
        self._samples.append(sample)
        if len(self._samples) == MOST_SAMPLES:
            del self._samples[1::2]
            self._every *= 2

    def measured(self, regions: dict[str, Histogram]) -> None:
        """Add what the processes of a round have measured."""
        for name, histogram in regions.items():
            self._regions[name] = self._regions.get(name, Histogram()) + histogram

    def settled(self, own_bytes: dict[str, int]) -> None:
        """Note what memory processes have for themselves behind a round."""
        for name, nbytes in own_bytes.items():
            self._own.setdefault(name, []).append(nbytes)

    @property
    def unsettled(self) -> int:
        """Tell how many requests somebody still waits for."""
        return self._missing - self._ledger.get("left")

    @property
    def _missing(self) -> int:
        """Outcomes that nobody has seen, of requests that went in, and that nothing is known of."""
        return self._ledger.get("admitted") - sum(self._ledger.outcomes().values()) - self.lost - self._astray

    def parted(self, *, killed: bool) -> None:
        """Take stock when the process that counts is no more: of one that was killed, what was open is lost."""
        missing = self._missing
        if killed and missing > 0:
            self.lost += missing
        elif missing:
            self._astray += missing
            what = "Requests that went in, and have no outcome" if missing > 0 else "Outcomes that came of no request"
            self.find("outcome", f"{what}: {abs(missing):,}.")
        for name in (*self._own,):
            self.replaced(name)

    def replaced(self, name: str) -> None:
        """Judge what a process had, which is no more, or is another one from now on."""
        sizes = self._own.pop(name, [])
        if len(sizes) < _ROUNDS:
            return
        before, after = max(sizes[1:4]), min(sizes[-3:])
        if after - before > _GROWTH_BYTES:
            self.find(
                "leftover",
                f"The memory of {name} grew from {before >> 20:,} MiB to {after >> 20:,} MiB in {len(sizes)} "
                "rounds, each of which had given back everything.",
            )

    def account(self) -> Account:
        """Give the account as it stands."""
        outcomes = {name: count for name, count in {**self._ledger.outcomes(), LOST: self.lost}.items() if count}
        return Account(
            started=self._started,
            seed=self._config.seed,
            asked_s=self._config.seconds,
            seconds=(self.ended_s or time.monotonic()) - self.began_s,
            interrupted=self.interrupted,
            workers=self._config.workers,
            machine=self._machine,
            requests=self._ledger.get("admitted"),
            outcomes=outcomes,
            checked_bytes=self._ledger.get("checked_bytes"),
            latencies={size: found for size, found in self._ledger.latencies().items() if found.counts},
            regions=dict(sorted(self._regions.items())),
            samples=tuple(self._all_samples()),
            faults=self.around.survived(),
            validations=self.around.validations(),
            findings=tuple(sorted(self._all_findings(), key=lambda finding: finding.at_s)),
            notes=(*self.around.notes(), *self.notes, *self._more()),
            reasons=(*self.around.failed(), *self.reasons),
            defect=self._config.defect,
            due_errors=self._ledger.get("due_errors"),
            doing=self.doing,
            memory_bytes=self._config.memory_bytes or 0,
            taken_bytes=self._taken_bytes,
        )

    def _all_samples(self) -> Iterator[Sample]:
        yield from self._samples
        if self._samples and self._latest is not self._samples[-1]:
            yield self._latest

    def _more(self) -> Iterator[str]:
        if self._untold:
            yield f"{self._untold:,} more findings were not kept."

    def _all_findings(self) -> Iterator[Finding]:
        """Give those that were noted, and those of recordings, each with the trace that it was cut down to."""
        traces = self.around.traces()
        for finding in self._findings:
            yield msgspec.structs.replace(finding, trace=traces.get(finding.recordings or ""))
        for at_s, message, recordings in self.around.broken():
            yield Finding(
                at_s=at_s - self.began_s,
                kind="spec",
                message=message,
                trace=traces.get(recordings or ""),
                recordings=recordings,
            )
