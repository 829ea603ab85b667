"""Runs that do not end in time: circles are proven, unfairness is not held against the code, and the rest is told."""

from __future__ import annotations

import itertools
import math
import queue

import pytest

from omni_ipc.records import FailureKind, Report, Verdict
from omni_ipc.testbed import ControlledRuntime, explore
from tests.testbed.kernels import and_join


def violated(report: Report, kind: FailureKind) -> None:
    """Check that a failure of a kind was found."""
    assert report.failure is not None, report.reason
    assert report.failure.kind is kind


def test_two_who_always_give_way_are_a_livelock() -> None:
    """Each takes its lock, finds the other one taken, and gives its own back: served in turns, they do so for ever."""

    def scenario(rt: ControlledRuntime) -> None:
        left, right = rt.lock(), rt.lock()

        def pass_by(first: object, second: object) -> None:
            while True:
                with first:  # type: ignore[attr-defined]
                    if second.acquire(blocking=False):  # type: ignore[attr-defined]
                        second.release()  # type: ignore[attr-defined]
                        return

        and_join(rt, lambda: pass_by(left, right), lambda: pass_by(right, left))

    violated(explore(scenario, strategy="depth-first", max_steps=40), FailureKind.LIVELOCK)


def test_a_spin_that_somebody_else_would_end_is_no_livelock() -> None:
    """Only an unfair schedule spins for ever: the run is ended fairly, and what was left out is told."""

    def scenario(rt: ControlledRuntime) -> bool:
        flag = rt.event()
        rt.spawn(flag.set, name="setter")
        while not flag.is_set():
            pass
        return True

    report = explore(scenario, max_steps=50, strategy="depth-first", runs=20)
    assert (report.verdict, report.outcomes) == (Verdict.BOUNDED, ("True",))


def test_a_spin_that_nobody_would_end_is_a_livelock_though_others_go_on() -> None:
    """Two who spin on a flag that nobody sets are served in turns, and their state comes back; it replays, too."""

    def scenario(rt: ControlledRuntime) -> None:
        flag = rt.event()

        def spin() -> None:
            while not flag.is_set():
                pass

        and_join(rt, spin, spin)

    violated(explore(scenario, max_steps=60), FailureKind.LIVELOCK)


@pytest.mark.parametrize("rounds", [200, 1_000])
def test_a_poller_that_counts_its_time_outs_gets_its_rounds(rounds: int) -> None:
    """Somebody who gives up after so many time-outs, counted in private, and then wakes a waiter, does so."""

    def scenario(rt: ControlledRuntime) -> bool:
        inbox, gave_up = rt.queue(), rt.event()

        def poll() -> None:
            misses = 0
            while misses < rounds:
                try:
                    inbox.get(timeout=1.0)
                except queue.Empty:
                    misses += 1
            gave_up.set()

        rt.spawn(poll, name="poller")
        return gave_up.wait()

    assert explore(scenario, runs=1).outcomes == ("True",)


def test_time_outs_counted_in_an_object_are_seen_as_well() -> None:
    """Private state is looked for in whatever the frames lead to."""

    class Poller:
        def __init__(self, rt: ControlledRuntime) -> None:
            self.misses = {"inbox": [0]}
            self.inbox, self.gave_up = rt.queue(), rt.event()

        def run(self) -> None:
            while self.misses["inbox"][0] < 300:
                try:
                    self.inbox.get(timeout=1.0)
                except queue.Empty:
                    self.misses["inbox"][0] += 1
            self.gave_up.set()

    def scenario(rt: ControlledRuntime) -> bool:
        poller = Poller(rt)
        rt.spawn(poller.run, name="poller")
        return poller.gave_up.wait()

    assert explore(scenario, runs=1).outcomes == ("True",)


def test_retries_in_a_for_loop_are_not_taken_for_a_circle() -> None:
    """The iterator of a loop is not to be seen: nothing is proven while one runs."""

    def scenario(rt: ControlledRuntime) -> bool:
        inbox, gave_up = rt.queue(), rt.event()

        def poll() -> None:
            for _ in itertools.repeat(None, 400):
                try:
                    inbox.get(timeout=1.0)
                except queue.Empty:
                    continue
            gave_up.set()

        rt.spawn(poll, name="poller")
        return gave_up.wait()

    assert explore(scenario, runs=1).outcomes == ("True",)


def test_two_pollers_of_different_rhythm_hide_no_waiter() -> None:
    """Their common state comes back, too, and the waiter is told."""

    def scenario(rt: ControlledRuntime) -> None:
        inbox, never = rt.queue(), rt.future()

        def poll(seconds: float) -> None:
            while True:
                try:
                    inbox.get(timeout=seconds)
                except queue.Empty:
                    continue

        rt.spawn(poll, 0.1, name="fast")
        rt.spawn(poll, 0.2, name="slow")
        never.result()

    violated(explore(scenario, runs=1), FailureKind.LOST_WAKEUP)


@pytest.mark.parametrize("misses", [300, math.inf])
def test_sets_of_pairs_are_looked_into(misses: float) -> None:
    """Who notes its time-outs there gets its rounds; who notes the same one each time gives nobody hope."""

    def scenario(rt: ControlledRuntime) -> bool:
        inbox, gave_up = rt.queue(), rt.event()

        def poll() -> None:
            seen = {("inbox", 0)}
            while len(seen) < misses:
                try:
                    inbox.get(timeout=1.0)
                except queue.Empty:
                    seen.add(("inbox", len(seen) if misses < math.inf else 0))
            gave_up.set()

        rt.spawn(poll, name="poller")
        return gave_up.wait()

    report = explore(scenario, runs=1)
    if misses < math.inf:
        assert report.outcomes == ("True",)
    else:
        violated(report, FailureKind.LOST_WAKEUP)


def test_a_run_that_only_grows_is_inconclusive() -> None:
    """Nothing is proven about a schedule that has not ended, and does not repeat itself: the limit is named."""

    def scenario(rt: ControlledRuntime) -> None:
        words, count = rt.words(memoryview(bytearray(8))), 0
        while words.load(0) == 0:
            count += 1

    report = explore(scenario, max_steps=100)
    assert report.verdict is Verdict.INCONCLUSIVE
    assert "100 steps (max_steps)" in report.reason
    assert "raise max_steps" in report.reason


def test_circles_are_seen_long_before_the_limit() -> None:
    """A spin that nobody would end is proven within a few thousand steps, and one that somebody would end is ended."""

    def spinning(rt: ControlledRuntime, is_set: bool) -> bool:
        flag = rt.event()
        if is_set:
            rt.spawn(flag.set, name="setter")
        while not flag.is_set():
            pass
        return True

    report = explore(lambda rt: spinning(rt, False), strategy="depth-first", max_steps=1_000_000)
    violated(report, FailureKind.LIVELOCK)
    assert report.steps < 3_000
    report = explore(lambda rt: spinning(rt, True), strategy="depth-first", max_steps=1_000_000, runs=3)
    assert (report.verdict, report.outcomes) == (Verdict.BOUNDED, ("True",))
    assert report.steps < 9_000
