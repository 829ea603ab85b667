"""The lane with one thing left out or exchanged: found from nothing, in each memory order that shows it.

The names are those of the defects in `spec/Lane.tla`, where it has them.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from omni_ipc.records import FailureKind, MemoryOrder, Verdict
from omni_ipc.scenarios.defects_lane import MissingReaderFence, MissingWriterFence
from omni_ipc.seam.api import Words
from omni_ipc.testbed import replay, shrink
from omni_ipc.transport import bell
from omni_ipc.transport.bell import Bell
from omni_ipc.transport.layout import RECORDS_WRITTEN, WRITE_POSITION
from tests.support.talks import FINE, explored, talk

SC, TSO, RELEASE, WEAK = MemoryOrder
EXCEPTION, LOST_WAKEUP = FailureKind.EXCEPTION, FailureKind.LOST_WAKEUP


@pytest.fixture(autouse=True)
def _sleepers_depend_on_being_woken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take away the bound of a sleep: a lost wake-up is a wait without end."""
    monkeypatch.setattr(bell, "LONGEST_SLEEP_S", math.inf)


class _OddWords:
    """The words as a writer uses them that does something else than it should."""

    def __init__(self, words: Words) -> None:
        self._words = words
        self._held: list[Callable[[], None]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._words, name)

    def _release(self) -> None:
        while self._held:
            self._held.pop(0)()


class PublishBeforeBody(_OddWords):
    """Stores the position first, and then writes what lies before it."""

    def write(self, offset: int, data: bytes) -> None:
        self._held.append(functools.partial(self._words.write, offset, bytes(data)))

    def store(self, index: int, value: int) -> None:
        self._words.store(index, value)
        if index == WRITE_POSITION:
            self._release()


class PositionBeforeCount(_OddWords):
    """Publishes a record before it is counted."""

    def store(self, index: int, value: int) -> None:
        store = functools.partial(self._words.store, index, value)
        if index == RECORDS_WRITTEN:
            self._held.append(store)
        else:
            store()
            self._release()


class ReusedSequence(_OddWords):
    """Does not count what it publishes, so that the next record gets the same number."""

    def store(self, index: int, value: int) -> None:
        if index != RECORDS_WRITTEN:
            self._words.store(index, value)


class NoSecondLook(Bell):
    """Goes to sleep on what it saw before it said so."""

    def _park(self, ready: Callable[[], bool]) -> bool:
        with self._rt.region("Bell.Park"):
            self._words.store(self._index, 1)
            self._words.fence()
            return False


class Bug(NamedTuple):
    """A way to break the lane, and the first memory order in which it shows."""

    parts: dict[str, Any]
    first: MemoryOrder
    kind: FailureKind
    message: str  # a pattern


BUGS = {
    "publish_before_body": Bug({"words": PublishBeforeBody}, SC, EXCEPTION, "no record has the code 0"),
    "position_before_count": Bug({"words": PositionBeforeCount}, SC, EXCEPTION, "1 records were taken, of 0 written"),
    "reused_sequence": Bug({"words": ReusedSequence, "messages": 2}, SC, EXCEPTION, "sequence: found 0|of 0 written"),
    "lost_wakeup": Bug({"bell": NoSecondLook}, SC, LOST_WAKEUP, "a wake of word 16"),
    "missing_writer_fence": Bug({"bell": MissingWriterFence}, TSO, LOST_WAKEUP, "a wake of word 16"),
    "missing_reader_fence": Bug({"bell": MissingReaderFence}, TSO, LOST_WAKEUP, "a wake of word 16"),
    "missing_release_fence": Bug({}, WEAK, EXCEPTION, "no record has the code 0|1 records were taken, of 0 written"),
}


@pytest.mark.parametrize("name", BUGS)
@pytest.mark.parametrize("memory", MemoryOrder)
def test_a_bug_is_found_in_each_order_that_shows_it_and_in_no_other(name: str, memory: MemoryOrder) -> None:
    """What is found fails as it must, replays step by step, and cannot be made shorter."""
    bug, orders = BUGS[name], list(MemoryOrder)
    scenario = functools.partial(talk, **bug.parts)
    report = explored(scenario, memory)
    if orders.index(memory) < orders.index(bug.first):
        assert report.verdict is Verdict.HOLDS, report.reason
        return
    assert report.verdict is Verdict.VIOLATED, report.reason
    assert report.failure is not None
    assert report.trace is not None
    assert report.failure.kind is bug.kind
    assert re.search(bug.message, report.failure.message)
    again = replay(scenario, report.trace, transparent=FINE)
    assert (again.diverged, again.failure) == (None, report.failure)
    assert len(shrink(scenario, report.trace, transparent=FINE).steps) == len(report.trace.steps)


@pytest.mark.parametrize("name", ["missing_writer_fence", "missing_reader_fence"])
def test_a_missing_fence_shows_at_the_grain_of_regions(name: str) -> None:
    """The end of a region is no fence, so nobody has to take regions apart to find it."""
    report = explored(functools.partial(talk, **BUGS[name].parts), MemoryOrder.TSO, transparent=())
    assert report.failure is not None
    assert report.failure.kind is FailureKind.LOST_WAKEUP
