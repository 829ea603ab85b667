"""The classic litmus tests of memory orders: exactly these outcomes, no more and no less."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

from omni_ipc.records import MemoryOrder
from omni_ipc.seam.api import Words
from omni_ipc.testbed import ControlledRuntime, explore

Body = Callable[[Words], list[int]]
"""What one processor does; returns what it has loaded."""

X, Y = 0, 1
SC, TSO, RELEASE, WEAK = MemoryOrder


def store_then_load(mine: int, theirs: int, *, fence: bool) -> Body:
    def body(words: Words) -> list[int]:
        words.store(mine, 1)
        if fence:
            words.fence()
        return [words.load(theirs)]

    return body


def load_then_store(mine: int, theirs: int) -> Body:
    def body(words: Words) -> list[int]:
        seen = words.load(theirs)
        words.store(mine, 1)
        return [seen]

    return body


def loads(*indices: int) -> Body:
    return lambda words: [words.load(index) for index in indices]


def stores(*pairs: tuple[int, int], fence: bool = False) -> Body:
    def body(words: Words) -> list[int]:
        for index, value in pairs:
            words.store(index, value)
            if fence:
                words.fence()
        return []

    return body


def own_store_then_loads(mine: int, theirs: int) -> Body:
    def body(words: Words) -> list[int]:
        words.store(mine, 1)
        return [words.load(mine), words.load(theirs)]

    return body


def write_then_store(words: Words) -> list[int]:
    words.write(12, b"\1" * 5)  # the second half of Y, and a byte of the word behind it
    words.store(X, 1)
    return []


def load_then_read(words: Words) -> list[int]:
    seen = words.load(X)
    copy = words.read(14, 3)
    assert copy in (bytes(3), b"\1" * 3), "a bulk write was seen in parts"
    return [seen, copy[0]]


def outcomes(*bodies: Body, memory: MemoryOrder, final: bool = False, brute: bool = True) -> set[str]:
    """Run bodies side by side in every schedule, and write down what they loaded: "01"; then, if final, X and Y."""

    def scenario(rt: ControlledRuntime) -> str:
        words = rt.words(memoryview(bytearray(24)))
        seen: list[list[int]] = [[] for _ in bodies]

        def run(number: int, body: Body) -> None:
            seen[number] = body(words)

        with rt.region("Start"):
            tasks = [rt.spawn(run, number, body, name=f"p{number}") for number, body in enumerate(bodies)]
        for task in tasks:
            task.join()
        end = loads(X, Y)(words) if final else []
        return "".join(map(str, [*itertools.chain(*seen), *end]))

    strategies = ("depth-first", "brute-force") if brute else ("depth-first",)
    reports = [explore(scenario, memory=memory, strategy=strategy, declared=True) for strategy in strategies]
    assert all(report.verdict == "holds" for report in reports), reports[0].reason
    assert len({(report.outcomes, report.traces) for report in reports}) == 1, "the reduced search saw something else"
    return {outcome.strip("'") for outcome in reports[0].outcomes}


@pytest.mark.parametrize("memory", MemoryOrder)
def test_a_load_may_overtake_a_store_but_not_a_fence(memory: MemoryOrder) -> None:
    """Store buffering: both see nothing of each other, except where stores are seen at once, or there are fences."""
    in_order = {"01", "10", "11"}
    bare = [store_then_load(X, Y, fence=False), store_then_load(Y, X, fence=False)]
    fenced = [store_then_load(X, Y, fence=True), store_then_load(Y, X, fence=True)]
    half = [store_then_load(X, Y, fence=True), store_then_load(Y, X, fence=False)]
    assert outcomes(*bare, memory=memory) == (in_order if memory is SC else in_order | {"00"})
    assert outcomes(*fenced, memory=memory) == in_order
    assert outcomes(*half, memory=memory) == (in_order if memory is SC else in_order | {"00"})


@pytest.mark.parametrize("memory", MemoryOrder)
def test_a_store_overtakes_a_store_in_weak_memory_only(memory: MemoryOrder) -> None:
    """Message passing: who sees the flag sees the message, unless stores have no order; a fence gives them one."""
    in_order = {"00", "01", "11"}  # flag, message
    assert outcomes(stores((X, 1), (Y, 1)), loads(Y, X), memory=memory) == (
        in_order | {"10"} if memory is WEAK else in_order
    )
    assert outcomes(stores((X, 1), (Y, 1), fence=True), loads(Y, X), memory=memory) == in_order


@pytest.mark.parametrize("memory", MemoryOrder)
def test_a_store_publishes_the_bytes_before_it(memory: MemoryOrder) -> None:
    """Message passing with bytes, which are seen whole: a store releases them, except in weak memory."""
    expected = {"00", "01", "11"}
    assert outcomes(write_then_store, load_then_read, memory=memory) == (
        expected | {"10"} if memory is WEAK else expected
    )


@pytest.mark.parametrize("memory", MemoryOrder)
def test_no_load_is_early(memory: MemoryOrder) -> None:
    """Load buffering: neither sees what the other stores behind its own load."""
    assert outcomes(load_then_store(X, Y), load_then_store(Y, X), memory=memory) == {"00", "01", "10"}


@pytest.mark.parametrize("memory", MemoryOrder)
def test_all_see_stores_in_one_order(memory: MemoryOrder) -> None:
    """Independent reads of independent writes: two readers never disagree about which of two stores came first."""
    seen = outcomes(stores((X, 1)), stores((Y, 1)), loads(X, Y), loads(Y, X), memory=memory, brute=memory is SC)
    everything = {"".join(bits) for bits in itertools.product("01", repeat=4)}
    assert seen == everything - {"1010"}


@pytest.mark.parametrize("memory", MemoryOrder)
def test_a_task_sees_its_own_stores_before_all_others_do(memory: MemoryOrder) -> None:
    """Forwarding: both see their own store, and nothing of the other's."""
    seen = outcomes(own_store_then_loads(X, Y), own_store_then_loads(Y, X), memory=memory, brute=memory is SC)
    assert seen == {"1011", "1110", "1111"} | (set() if memory is SC else {"1010"})


@pytest.mark.parametrize("memory", MemoryOrder)
def test_stores_to_one_word_stay_in_order(memory: MemoryOrder) -> None:
    """Coherence: nobody sees the first value after the second one, and the second one is what remains."""
    seen = outcomes(stores((X, 1), (X, 2)), loads(X, X), memory=memory, final=True)
    assert seen == {"0020", "0120", "0220", "1120", "1220", "2220"}


@pytest.mark.parametrize("memory", MemoryOrder)
def test_both_first_stores_win_in_weak_memory_only(memory: MemoryOrder) -> None:
    """Two plus two writes: each task's first store ends up on top of the other's second one."""
    seen = outcomes(stores((X, 1), (Y, 2)), stores((Y, 1), (X, 2)), memory=memory, final=True, brute=memory is SC)
    assert seen == {"12", "21", "22"} | ({"11"} if memory is WEAK else set())
