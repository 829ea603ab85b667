"""cachetools 8: "All cache classes are not thread-safe", says its documentation; its decorators take a lock."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.thirdparty.exploring import Scenario, expect_fault, expect_hold, together

cachetools = pytest.importorskip("cachetools")


def get_while_the_last_item_is_evicted() -> None:
    cache = cachetools.LRUCache(maxsize=1)
    cache["a"] = 1
    together(lambda: cache.get("a"), lambda: cache.__setitem__("b", 2))


def two_first_items_at_once() -> None:
    cache = cachetools.LRUCache(maxsize=1)
    together(lambda: cache.__setitem__("a", 1), lambda: cache.__setitem__("b", 2))


def one_item_set_twice_at_once() -> None:
    cache = cachetools.LRUCache(maxsize=5)
    together(lambda: cache.__setitem__("a", 1), lambda: cache.__setitem__("a", 2))
    assert cache.currsize == len(cache), f"size {cache.currsize} of {len(cache)}"


def two_threads_expire_one_item() -> None:
    cache = cachetools.TTLCache(maxsize=2, ttl=10, timer=time.monotonic)
    cache["a"] = 1
    time.sleep(11)
    together(cache.expire, cache.expire)


def computed_times(**options: Any) -> Callable[[], int]:
    """Return a scenario that gives how often a cached function runs for two threads that ask for the same."""

    def scenario() -> int:
        times: list[int] = []
        made = {name: make() for name, make in options.items()}

        @cachetools.cached(cachetools.LRUCache(maxsize=4), **made)
        def double(x: int) -> int:
            times.append(x)
            return x * 2

        answers: list[int] = []
        together(lambda: answers.append(double(1)), lambda: answers.append(double(1)))
        assert answers == [2, 2]
        return len(times)

    return scenario


def only_once(scenario: Callable[[], int]) -> Scenario:
    """Demand that a cached function runs but once."""

    def demanding() -> None:
        assert scenario() == 1, "computed twice"

    return demanding


@pytest.mark.parametrize(
    ("scenario", "message"),
    [
        (get_while_the_last_item_is_evicted, "KeyError: 'a'"),  # get() asks "in", then reads
        (two_first_items_at_once, "KeyError: 'LRUCache is empty'"),  # the size is raised before the order knows the key
        (one_item_set_twice_at_once, "size 2 of 1"),  # both see that the key is new, and both count it
        (two_threads_expire_one_item, "KeyError: 'a'"),  # both walk the list of what has expired
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_cache_without_a_lock_fails(scenario: Scenario, message: str) -> None:
    """Each of these raises in a method that alone would not, or leaves the cache's size wrong."""
    expect_fault(scenario, "cachetools", message=message)


def test_a_cached_function_without_a_lock_runs_twice() -> None:
    """Both threads miss before either has stored the value."""
    expect_fault(only_once(computed_times()), "cachetools", message="computed twice")


def test_a_cached_function_with_a_lock_may_run_twice() -> None:
    """The lock guards the cache, and not the call: it is let go while the function runs, which is documented."""
    expect_fault(only_once(computed_times(lock=lambda: threading.Lock())), "cachetools", message="computed twice")
    assert set(expect_hold(computed_times(lock=lambda: threading.Lock()), "cachetools").outcomes) == {"1", "2"}


def test_a_cached_function_with_a_condition_runs_once() -> None:
    """The second thread waits for the first one's value."""
    assert expect_hold(computed_times(condition=lambda: threading.Condition()), "cachetools").outcomes == ("1",)


def test_a_cache_under_a_lock_holds() -> None:
    """What fails without a lock holds under one, in every schedule."""

    def scenario() -> None:
        cache, lock = cachetools.LRUCache(maxsize=1), threading.Lock()

        def use(key: str) -> None:
            with lock:
                cache[key] = 1
            with lock:
                cache.get("a")

        together(lambda: use("a"), lambda: use("b"))
        assert cache.currsize == len(cache) == 1

    expect_hold(scenario, "cachetools")


def test_reads_beside_a_write_to_a_cache_that_is_not_full_hold() -> None:
    """Nothing is evicted, so nothing goes wrong; every order of accesses was tried."""

    def scenario() -> None:
        cache = cachetools.LRUCache(maxsize=3)
        cache["a"] = 1
        together(lambda: cache.get("a"), lambda: cache.__setitem__("b", 2))
        assert dict(cache) == {"a": 1, "b": 2}

    expect_hold(scenario, "cachetools")
