"""What was asked and what came of it, counted in memory that outlives the process which counts.

    the command's process                         the process of engine and clients
    Ledger.create ── descriptor ────────────────► Ledger.attach, count, count, … SIGKILL
    totals, latencies, latest  ◄═ shared memory ═

Each word has one writer at a time, and a reader takes it whole; together they are right once the writer is at rest, or
dead. What it had admitted and not seen the end of is then the difference.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import NamedTuple

from omni_ipc.accounts import KINDS, STEPWISE
from omni_ipc.histograms import BINS, Histogram, bin_of
from omni_ipc.serving.results import Outcome
from omni_ipc.transport.memory import Segment

_LIMITS = (64 << 10, 1 << 20, 16 << 20, 256 << 20)
_COUNTS = ("admitted", "refused", "left", "checked_bytes", "rounds", "open", "slots", "submitted_ns", "ended_ns")
_DUE_ERRORS = "due_errors"  # of those that requests ended with, what was to come, whatever was done to processes
_SUSPICIOUS = "suspicious"  # the last round that something was found in: the one word that who counts only reads
_WORD = {name: index for index, name in enumerate((*_COUNTS, _DUE_ERRORS, _SUSPICIOUS, *Outcome))}
_FIRST_KIND = len(_WORD)
_KIND_WORDS = BINS + 1  # and the time of all together
_WORD_BYTES = 8
_NS = 1e9


class Latest(NamedTuple):
    """The latest of all results, by when its request was submitted; seconds of the monotonic clock."""

    submitted_s: float
    ended_s: float


class Ledger:
    """The counts; any thread of the process that counts may call it."""

    def __init__(self, segment: Segment) -> None:
        self._segment = segment
        self._words = segment.view.cast("q")
        self._lock = threading.Lock()

    @classmethod
    def create(cls) -> Ledger:
        """Make one in which nothing was counted yet."""
        return cls(Segment.create((_FIRST_KIND + len(KINDS) * _KIND_WORDS) * _WORD_BYTES, name="omni_ipc.ledger"))

    @classmethod
    def attach(cls, fd: int) -> Ledger:
        """Go on with one by its descriptor, which is the ledger's from now on."""
        return cls(Segment.attach(fd, name="omni_ipc.ledger"))

    @property
    def fd(self) -> int:
        """The descriptor to attach to."""
        return self._segment.fd

    def add(self, name: str, count: int = 1) -> None:
        """Count something: one of the counts, or an outcome."""
        with self._lock:
            self._words[_WORD[name]] += count

    def put(self, name: str, value: int) -> None:
        """Say how many there are now."""
        self._words[_WORD[name]] = value

    def get(self, name: str) -> int:
        """Tell a count."""
        return self._words[_WORD[name]]

    def result(
        self,
        submitted_s: float,
        ended_s: float,
        *,
        nbytes: int,
        checked: bool,
        stepwise: bool = False,
        waited: bool = True,
    ) -> None:
        """Count a result; the bytes that were asked for, too, if they were found to be right.

        And how long it took, by its kind, if its client waited for it: of one who came for it later, that tells how
        long they rested.
        """
        took_s = ended_s - submitted_s
        kind = KINDS.index(STEPWISE) if stepwise else sum(nbytes > limit for limit in _LIMITS)
        first = _FIRST_KIND + _KIND_WORDS * kind
        with self._lock:
            self._words[_WORD[Outcome.RESULT]] += 1
            self._words[_WORD["checked_bytes"]] += nbytes * checked
            self._words[first + bin_of(int(took_s * 1e6))] += waited
            self._words[first + BINS] += int(took_s * _NS) * waited
            if int(submitted_s * _NS) > self._words[_WORD["submitted_ns"]]:
                self._words[_WORD["ended_ns"]] = int(ended_s * _NS)
                self._words[_WORD["submitted_ns"]] = int(submitted_s * _NS)

    @property
    def latest(self) -> Latest:
        """Tell of the latest result."""
        return Latest(self.get("submitted_ns") / _NS, self.get("ended_ns") / _NS)

    def outcomes(self) -> dict[str, int]:
        """Tell how requests have ended."""
        return {outcome.value: self.get(outcome) for outcome in Outcome}

    def latencies(self) -> Mapping[str, Histogram]:
        """Tell how long results took that somebody waited for, by the kind of what was asked for."""
        return {kind: self._histogram(_FIRST_KIND + _KIND_WORDS * number) for number, kind in enumerate(KINDS)}

    def close(self) -> None:
        """Let go of the memory."""
        self._words.release()
        self._segment.close()

    def _histogram(self, first: int) -> Histogram:
        counts = {place: count for place, count in enumerate(self._words[first : first + BINS]) if count}
        return Histogram(counts, self._words[first + BINS] / _NS)
