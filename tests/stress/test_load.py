"""What clients ask for: drawn by a seed, within bounds, of all kinds; and how much of it may be open at a time."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omni_ipc.stress.budget import Budget
from omni_ipc.stress.load import KIB, MIB, Ask, Load, Way
from omni_ipc.stress.outputs import Kind, difference, nbytes_of
from omni_ipc.stress.pipeline import Trouble, plan_of

FRAME_BYTES = 3104
"""What the smallest video takes."""


def drawn(seed: str = "1.1", *, largest_bytes: int = 64 * MIB, late_s: float = 0.2, count: int = 300) -> list[Ask]:
    load = Load(seed, largest_bytes=largest_bytes, late_s=late_s)
    return [load.draw() for _ in range(count)]


def told(asks: Sequence[Ask]) -> list[object]:
    """Tell what was drawn, but for the arrays of inputs."""
    return [(ask.request.id, ask.request.options, ask.nbytes, ask.way, ask.pause_s) for ask in asks]


def test_the_same_seed_asks_for_the_same() -> None:
    """Also by the same ids, so that what was found can be looked for again; another round asks for something else."""
    assert told(drawn("7.1")) == told(drawn("7.1"))
    assert told(drawn("7.1")) != told(drawn("7.2"))


def test_everything_there_is_is_asked_for() -> None:
    """Every kind, way, size and trouble; ids that others have, outputs that are late, inputs that are as planned."""
    asks = drawn(largest_bytes=256 * MIB, count=3000)
    options = [ask.request.options for ask in asks]
    assert {ask.way for ask in asks} == {*Way}
    assert {each["kind"] for each in options} == {*Kind}
    assert {each["trouble"] for each in options} == {"", *Trouble}
    assert min(ask.nbytes for ask in asks) < 2 * KIB
    assert max(ask.nbytes for ask in asks) > 16 * MIB
    assert any(count > 10 for count in Counter(ask.request.id for ask in asks).values())
    assert 0 < sum(bool(each["late_s"]) for each in options) < 150
    with_inputs = [ask.request for ask in asks if ask.request.inputs is not None]
    assert len(with_inputs) > 100
    assert not [each for each in with_inputs[:20] if difference(plan_of(each), each.inputs, "inputs")]


@settings(max_examples=25)
@given(st.text(max_size=5), st.integers(8 * KIB, 64 * MIB), st.floats(0, 5))
def test_nothing_is_asked_for_beyond_what_there_may_be(seed: str, largest_bytes: int, late_s: float) -> None:
    """Neither larger, whatever the kind, nor later; and what is said of its size is what it takes."""
    for ask in drawn(seed, largest_bytes=largest_bytes, late_s=late_s, count=20):
        assert 0 < ask.nbytes <= max(largest_bytes, FRAME_BYTES)
        assert ask.nbytes == nbytes_of(plan_of(ask.request))
        assert 0 <= float(ask.request.options["late_s"] or 0) <= late_s


def test_a_giant_takes_all_there_may_be() -> None:
    """To the byte: it is for this that there is a slot of that size."""
    asked = Load("1.3 giant", largest_bytes=300 * MIB + 1, late_s=0.0).giant()
    assert (asked.nbytes, asked.request.options["kind"]) == (300 * MIB + 1, Kind.PLAIN)
    assert asked.request.options["late_s"] == 0.0


def test_no_two_requests_are_for_the_same_bytes() -> None:
    """Not those of one round, nor its giant, nor those of the next round: a mix-up of any two would be seen."""
    asks = [*drawn("1.1"), *drawn("1.2"), Load("1.1 giant", largest_bytes=MIB, late_s=0.0).giant()]
    assert len({ask.request.options["salt"] for ask in asks}) == len(asks)


class Visitor:
    """Asks a budget for room, has it, and leaves when it is told to."""

    def __init__(self, budget: Budget, nbytes: int, requests: int = 1) -> None:
        self.nbytes = nbytes
        self.requests = requests
        self.is_in = False
        self.leaves = asyncio.Event()
        self.task = asyncio.ensure_future(self._visit(budget))

    async def _visit(self, budget: Budget) -> None:
        async with budget.spent(self.nbytes, self.requests):
            self.is_in = True
            await self.leaves.wait()
        self.is_in = False


async def settled() -> None:
    """Let everybody do what can be done without waiting."""
    for _ in range(10):
        await asyncio.sleep(0)


async def leave(visitors: Sequence[Visitor]) -> None:
    for each in visitors:
        each.leaves.set()
    await asyncio.wait_for(asyncio.gather(*(each.task for each in visitors), return_exceptions=True), 30)


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(1, 150), st.integers(1, 5)), min_size=1, max_size=12), st.randoms())
def test_what_is_open_fits_or_is_alone_and_everybody_gets_in(sizes: list[tuple[int, int]], chance: object) -> None:
    """In the order in which they came, and as soon as there is room, in whichever order the others leave."""

    async def visit() -> None:
        budget = Budget(100, 4)
        visitors = [Visitor(budget, *size) for size in sizes]
        waiting = [*visitors]
        while waiting:
            await settled()
            inside = [each for each in waiting if each.is_in]
            spent, asked = sum(each.nbytes for each in inside), sum(each.requests for each in inside)
            assert (
                inside == waiting[: len(inside)]
                or [each for each in waiting if not each.is_in] == waiting[len(inside) :]
            )
            assert (spent <= 100 and asked <= 4) or len(inside) == 1
            if outside := [each for each in waiting if not each.is_in]:
                assert inside
                assert spent + outside[0].nbytes > 100 or asked + outside[0].requests > 4
            leaving = chance.choice(inside)  # type: ignore[attr-defined]
            await leave([leaving])
            waiting.remove(leaving)

    asyncio.run(visit())


def test_whoever_is_cancelled_takes_no_room() -> None:
    """Neither while it waits, which lets the next one in, nor while it has some."""

    async def visit() -> None:
        budget = Budget(100, 9)
        first, large, small = (Visitor(budget, size) for size in (60, 90, 30))
        await settled()
        assert [first.is_in, large.is_in, small.is_in] == [True, False, False]
        large.task.cancel()
        await settled()
        assert [large.is_in, small.is_in] == [False, True]
        first.task.cancel()
        last = Visitor(budget, 70)
        await settled()
        assert last.is_in
        await leave([first, large, small, last])

    asyncio.run(visit())


def test_a_large_one_is_not_passed_by_small_ones_for_ever() -> None:
    """Those that come after it wait until it was in: a soak's giants would be asked for only when all is over."""

    async def visit() -> None:
        budget = Budget(100, 9)
        small = [Visitor(budget, 50) for _ in range(2)]
        giant, late = Visitor(budget, 1000), Visitor(budget, 1)
        await settled()
        await leave(small[:1])
        assert [giant.is_in, late.is_in] == [False, False]
        await leave(small[1:])
        await settled()
        assert [giant.is_in, late.is_in] == [True, False]
        await leave([giant, late])

    asyncio.run(visit())


def test_a_request_that_no_load_has_made_is_refused() -> None:
    """By the worker, with what makes them."""
    asked = drawn(count=1)[0].request
    with pytest.raises(ValueError, match=r"Let `load.py` make it"):
        plan_of(type(asked)(asked.id, options={**asked.options, "salt": "1"}))
