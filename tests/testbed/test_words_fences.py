"""What orders late stores, and what does not: all that goes through the system does, accesses of memory do not."""

from __future__ import annotations

import functools
from collections.abc import Callable

import pytest

from omni_ipc.testbed import ControlledRuntime, explore
from omni_ipc.testbed.objects.buffered_words import BufferedWords
from tests.testbed.kernels import Counter, and_join

Between = Callable[[ControlledRuntime, BufferedWords], object]


def store_buffering(between: Between, rt: ControlledRuntime) -> tuple[int, int]:
    """Let two tasks store one word, do something, and load the other's word."""
    words = rt.words(memoryview(bytearray(24)))
    assert isinstance(words, BufferedWords)
    seen = {}

    def enter(mine: int) -> None:
        words.store(mine, 1)
        between(rt, words)
        seen[mine] = words.load(1 - mine)

    and_join(rt, lambda: enter(0), lambda: enter(1))
    return seen[0], seen[1]


def both_miss(between: Between, memory: str = "tso") -> bool:
    """Tell whether both loads can come before both stores are seen."""
    report = explore(functools.partial(store_buffering, between), memory=memory, declared=True)
    assert report.verdict == "holds", report.reason
    return "(0, 0)" in report.outcomes


def use_lock(rt: ControlledRuntime, words: BufferedWords) -> None:
    with rt.lock():
        pass


def use_region_with_lock(rt: ControlledRuntime, words: BufferedWords) -> None:
    with rt.region("Guarded", rt.lock()):
        pass


def try_lock(rt: ControlledRuntime, words: BufferedWords) -> None:
    rt.lock().acquire(blocking=False)


def fence_in_region(rt: ControlledRuntime, words: BufferedWords) -> None:
    with rt.region("Fence"):
        words.fence()


FENCES: dict[str, Between] = {
    "fence": lambda rt, words: words.fence(),
    "fence in a region": fence_in_region,
    "lock": use_lock,
    "lock that is only tried": try_lock,
    "region with a lock": use_region_with_lock,
    "queue": lambda rt, words: rt.queue().put(1),
    "condition": lambda rt, words: rt.condition().acquire(),
    "event": lambda rt, words: rt.event().set(),
    "future": lambda rt, words: rt.future().set_result(1),
    "semaphore": lambda rt, words: rt.semaphore().acquire(),
    "wait": lambda rt, words: words.wait(2, 1, timeout=1),
    "wake": lambda rt, words: words.wake(2),
    "sleep": lambda rt, words: rt.sleep(1),
}


@pytest.mark.parametrize("name", FENCES)
def test_what_goes_through_the_system_is_a_fence(name: str) -> None:
    """Behind it all see what was stored before it, in the weakest order, too."""
    assert not both_miss(FENCES[name], "weak")


def test_what_was_stored_under_a_lock_is_seen_when_it_is_given_back() -> None:
    """Whether it is held by a region or by hand."""

    def scenario(by_region: bool, rt: ControlledRuntime) -> tuple[int, int]:
        words = rt.words(memoryview(bytearray(16)))
        locks = rt.lock(), rt.lock()
        seen = {}

        def enter(mine: int) -> None:
            with rt.region("Guarded", locks[mine]) if by_region else locks[mine]:
                words.store(mine, 1)
            seen[mine] = words.load(1 - mine)

        and_join(rt, lambda: enter(0), lambda: enter(1))
        return seen[0], seen[1]

    for by_region in (True, False):
        report = explore(functools.partial(scenario, by_region), memory="weak", declared=True)
        assert report.outcomes == ("(0, 1)", "(1, 0)", "(1, 1)")


def use_plain_field(rt: ControlledRuntime, words: BufferedWords) -> None:
    counter = Counter()
    rt.watch(counter, None, "Counter")
    counter.value += 1


def use_region(rt: ControlledRuntime, words: BufferedWords) -> None:
    with rt.region("Nothing"):
        pass


NO_FENCES: dict[str, Between] = {
    "nothing": lambda rt, words: None,
    "load": lambda rt, words: words.load(2),
    "read": lambda rt, words: words.read(16, 8),
    "store": lambda rt, words: words.store(2, 1),
    "write": lambda rt, words: words.write(20, b"1"),
    "plain field": use_plain_field,
    "region": use_region,
    "clock": lambda rt, words: rt.now(),
}


@pytest.mark.parametrize("name", NO_FENCES)
def test_accesses_of_memory_and_regions_without_a_lock_are_no_fences(name: str) -> None:
    """They leave stores where they are."""
    assert both_miss(NO_FENCES[name])
