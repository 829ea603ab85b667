"""The order of recorded steps, laid in chains."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from omni_ipc.conformance.recordings.chains import chains
from omni_ipc.conformance.recordings.looking import Seen
from omni_ipc.conformance.recordings.sessions import Step


def seen(begin: int, end: int | None, *, thread: int = 1) -> Seen:
    step = Step(1, f"task {thread}", thread, "Pump.Deliver", {}, begin, end, None, (), (), {})
    return Seen("PumpDeliver", {}, step)


def test_steps_that_follow_each_other_are_one_chain_whoever_took_them() -> None:
    """A thousand tasks, one after another, cost the search as much as one."""
    (chain,) = chains([seen(10 * n, 10 * n + 5, thread=n) for n in range(1000)])
    assert [ranked.seen.step.begin_ns for ranked in chain] == [10 * n for n in range(1000)]


def test_steps_that_overlap_are_in_different_chains() -> None:
    """Their order is not known; nor is it if one ends at the very moment at which the other begins."""
    assert [len(chain) for chain in chains([seen(0, 10, thread=1), seen(5, 15, thread=2)])] == [1, 1]
    assert [len(chain) for chain in chains([seen(0, 10, thread=1), seen(10, 15, thread=2)])] == [1, 1]


def test_a_step_that_never_ended_is_the_last_of_its_chain() -> None:
    """Whatever began later may have happened before it."""
    laid = chains([seen(0, None, thread=1), seen(5, 6, thread=2), seen(7, 8, thread=2)])
    assert [[ranked.seen.step.begin_ns for ranked in chain] for chain in laid] == [[0], [5, 7]]


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 9)), max_size=12))
def test_chains_hold_each_step_once_and_order_only_what_is_ordered(windows: list[tuple[int, int]]) -> None:
    """Two steps of a chain do not overlap, and ranks keep the order of all times."""
    steps = [seen(begin, begin + length, thread=n) for n, (begin, length) in enumerate(sorted(windows))]
    laid = chains(steps)
    assert sorted(id(ranked.seen) for chain in laid for ranked in chain) == sorted(map(id, steps))
    for chain in laid:
        for one, other in itertools.pairwise(chain):
            assert one.seen.step.end_ns < other.seen.step.begin_ns  # type: ignore[operator]
    ranked = [each for chain in laid for each in chain]
    for one, other in itertools.product(ranked, repeat=2):
        earlier = one.seen.step.end_ns < other.seen.step.begin_ns  # type: ignore[operator]
        assert (one.end < other.begin) == earlier
