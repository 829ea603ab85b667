"""Programs with state that threads share, by every way in which one can share it; each with a twin under a lock."""

from __future__ import annotations

import dataclasses
import threading
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any

Body = Callable[[], object]

count = 0
instance: Any = None
registry: dict[str, Any] = {}
module_lock = threading.Lock()


def together(*bodies: Body) -> None:
    threads = [threading.Thread(target=body, name=name) for name, body in zip("abcd", bodies, strict=False)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


class NoLock:
    """In place of a lock where there is none."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        return None


class Counter:
    total = 0
    __private = 0

    def __init__(self, lock: Any) -> None:
        self.lock = lock
        self.value = 0
        self.parts = [0]
        self.table = {"n": 0}

    def add(self) -> None:
        with self.lock:
            self.value += 1

    def add_to_item(self) -> None:
        with self.lock:
            self.table["n"] += 1

    def add_to_class(self) -> None:
        with self.lock:
            Counter.total += 1

    def add_to_private(self) -> None:
        with self.lock:
            self.__private += 1

    def private(self) -> int:
        return self.__private

    def add_by_name(self) -> None:
        with self.lock:
            setattr(self, "value", getattr(self, "value") + 1)  # noqa: B009, B010


class Slotted:
    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 0


@dataclasses.dataclass
class Data:
    value: int = 0


def lost_update(lock: Any) -> None:
    counter = Counter(lock)
    together(counter.add, counter.add)
    assert counter.value == 2, "lost"


def lost_update_of_an_item(lock: Any) -> None:
    counter = Counter(lock)
    together(counter.add_to_item, counter.add_to_item)
    assert counter.table["n"] == 2, "lost"


def lost_update_of_a_class(lock: Any) -> None:
    counter = Counter(lock)
    together(counter.add_to_class, counter.add_to_class)
    assert Counter.total == 2, "lost"


def lost_update_of_a_private_field(lock: Any) -> None:
    counter = Counter(lock)
    together(counter.add_to_private, counter.add_to_private)
    assert counter.private() == 2, "lost"


def lost_update_by_name(lock: Any) -> None:
    counter = Counter(lock)
    together(counter.add_by_name, counter.add_by_name)
    assert counter.value == 2, "lost"


def lost_update_of_a_slot(lock: Any) -> None:
    slotted = Slotted()

    def add() -> None:
        with lock:
            slotted.value += 1

    together(add, add)
    assert slotted.value == 2, "lost"


def lost_update_of_a_data_class(lock: Any) -> None:
    data = Data()

    def add() -> None:
        with lock:
            data.value = data.value + 1

    together(add, add)
    assert data.value == 2, "lost"


def lost_update_of_a_global(lock: Any) -> None:
    def add() -> None:
        global count
        with lock:
            count += 1

    together(add, add)
    assert count == 2, "lost"


def lost_update_of_a_variable(lock: Any) -> None:
    total = 0

    def add() -> None:
        nonlocal total
        with lock:
            total += 1

    together(add, add)
    assert total == 2, "lost"


def lost_update_of_a_list(lock: Any) -> None:
    totals = [0]

    def add() -> None:
        with lock:
            seen = totals[0]
            totals[0] = seen + 1

    together(add, add)
    assert totals == [2], "lost"


def lost_update_of_bytes(lock: Any) -> None:
    data = bytearray(1)

    def add() -> None:
        with lock:
            data[0] += 1

    together(add, add)
    assert data[0] == 2, "lost"


def check_then_act(lock: Any) -> None:
    def claim() -> None:
        with lock:
            if "owner" not in registry:
                registry["owner"] = threading.current_thread().name
                winners.append(1)

    winners: list[int] = []
    together(claim, claim)
    assert len(winners) == 1, "two owners"


def check_then_pop(lock: Any) -> None:
    items = deque([1])

    def take() -> None:
        with lock:
            if items:
                items.popleft()

    together(take, take)


def check_then_delete(lock: Any) -> None:
    table = OrderedDict(a=1)

    def drop() -> None:
        with lock:
            if table.get("a") is not None:
                del table["a"]

    together(drop, drop)


def initialized_twice(lock: Any) -> None:
    made: list[int] = []

    def get() -> Any:
        global instance
        if instance is None:
            with lock:
                if instance is None:
                    made.append(1)
                    instance = Counter(None)
        return instance.value

    together(get, get)
    assert len(made) == 1, "made twice"


def changed_while_iterated(lock: Any) -> None:
    table = {1: 1, 2: 2}

    def walk() -> int:
        with lock:
            return sum(key for key in table)

    def grow() -> None:
        with lock:
            table[3] = 3

    together(walk, grow)


def missed_while_removing(lock: Any) -> None:
    items = [1, 2, 3]
    seen: list[int] = []

    def walk() -> None:
        with lock:
            for item in items:
                seen.append(item)  # noqa: PERF402 - each step counts

    def remove() -> None:
        with lock:
            items.remove(1)

    together(walk, remove)
    assert {2, 3} <= set(seen), "missed"


def shared_iterator(lock: Any) -> None:
    numbers = iter(range(10))
    groups: dict[int, list[str]] = defaultdict(list)

    def peek() -> None:
        with lock:
            first = next(numbers)
            assert next(numbers) == first + 1, "not in a row"
        groups[first].append("x")

    together(peek, peek)


def by_hand_of_another_function(lock: Any) -> None:
    import heapq

    heap = [2, 5]

    def replace() -> None:
        with lock:
            smallest = heapq.heappop(heap)
            heapq.heappush(heap, smallest + 1)

    together(replace, replace)
    assert sorted(heap) == [4, 5], "lost"


PROGRAMS: dict[Callable[[Any], None], str] = {
    lost_update: "lost",
    lost_update_of_an_item: "lost",
    lost_update_of_a_class: "lost",
    lost_update_of_a_private_field: "lost",
    lost_update_by_name: "lost",
    lost_update_of_a_slot: "lost",
    lost_update_of_a_data_class: "lost",
    lost_update_of_a_global: "lost",
    lost_update_of_a_variable: "lost",
    lost_update_of_a_list: "lost",
    lost_update_of_bytes: "lost",
    check_then_act: "two owners",
    check_then_pop: "pop from an empty deque",
    check_then_delete: "KeyError",
    initialized_twice: "made twice",
    changed_while_iterated: "changed size during iteration",
    missed_while_removing: "missed",
    shared_iterator: "not in a row",
    by_hand_of_another_function: "lost",
}
