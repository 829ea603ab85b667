"""A released package as it is, in schedules of 200 steps: two threads at one cache, with a lock, and without."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager

import cachetools


def _used_by_two(guard: Callable[[], AbstractContextManager[object]], times: int) -> Callable[[], None]:
    def scenario() -> None:
        cache, lock = cachetools.LRUCache[int, int](maxsize=100), guard()
        for number in range(4):
            cache[number] = 0

        def use() -> None:
            for number in range(times):
                with lock:
                    cache.get(number % 4)
                with lock:
                    cache[number % 4] = number

        threads = [threading.Thread(target=use) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    return scenario


guarded = _used_by_two(threading.Lock, 25)
"""A lock is taken and given back a hundred times; no access to the cache is a step."""

racing = _used_by_two(contextlib.nullcontext, 14)
"""Each access that races is a step; no item is evicted, so nothing fails."""
