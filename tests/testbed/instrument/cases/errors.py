"""Programs that raise: where, and with which words, must stay as it is."""

from __future__ import annotations

import contextlib
import heapq
from collections import OrderedDict, deque
from typing import Any

limit = 3


class Box:
    """Something with attributes."""

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)

    @property
    def broken(self) -> int:
        return self.fields["x"]

    @broken.setter
    def broken(self, value: int) -> None:
        raise ValueError(f"cannot be {value}")

    def method(self, n: int) -> int:
        return 1 // (n - 1) if n == 1 else self.method(n - 1)


def missing_attribute() -> object:
    box = Box(inner=Box())
    return box.inner.nothing


def missing_item() -> object:
    table = {"a": {}}
    return table["a"]["b"]


def missing_item_by_a_computed_key() -> object:
    box = Box(table={"a": 1})
    return box.table["".join(["b"])] + 1


def wrong_index() -> object:
    items = [1, 2]
    items[5] = items[0]
    return items


def wrong_computed_index() -> object:
    box = Box(items=[1])
    box.items[len("abc")] = max(1, 2)
    return box


def changed_while_iterated() -> object:
    table = {1: 2}
    for key in table:
        table[key + 1] = 0


def wrong_sum() -> object:
    box = Box(n=1)
    box.n += "a"
    return box


def wrong_operand() -> object:
    box = Box(n=1)
    return box.n + box


def not_callable() -> object:
    box = Box(n=1)
    return box.n(
        "".join(["x"]),
        len("y"),
    )


def in_a_property() -> object:
    return Box(fields={}).broken


def in_a_setter() -> object:
    box = Box()
    box.broken = 5
    return box


def deep_in_calls() -> object:
    box = Box(n=3)
    return box.method(
        box.n,
    )


def no_such_method() -> object:
    items: Any = deque([1])
    items.append(2)
    return items.push(
        items.popleft(),
    )


def empty_container() -> object:
    items: Any = []
    return OrderedDict().popitem() if items else items.pop()


def assertion() -> object:
    box = Box(n=1)
    assert box.n == limit, f"{box.n} is not {limit}"
    return None


def unbound() -> object:
    if limit > 100:
        value = 1
    return Box(n=1).n + value


def unbound_cell() -> object:
    def read() -> object:
        return later

    result = read()
    later = 1
    return result, later


def wrong_unpacking() -> object:
    box = Box(pair=[1, 2, 3])
    first, second = box.pair
    return first, second


def wrong_unpacking_in_a_loop() -> object:
    for _, (first, second) in [(0, [1, 2]), (1, [3])]:
        last = first, second
    return last


def wrong_unpacking_in_a_comprehension() -> object:
    return [first for first, second in [[1, 2], [3]] if second]


def wrong_unpacking_in_a_block() -> object:
    with contextlib.nullcontext([1]) as (first, second):
        return first, second


def wrong_arguments() -> object:
    return Box().method(1, 2, *[3], x=len("abc"))


def in_a_comprehension() -> object:
    box = Box(items=[1, 0])
    return [1 // item for item in box.items]


def in_a_generator() -> object:
    box = Box(items=[1, 0])
    return list(1 // item for item in box.items)


def in_library_code() -> object:
    box = Box(items=[1, "a"])
    return heapq.heapify(box.items)


def chained() -> object:
    try:
        return missing_item()
    except KeyError as error:
        raise RuntimeError("could not") from error


def in_a_finally() -> object:
    try:
        return missing_attribute()
    finally:
        Box().broken  # noqa: B018


def not_iterable() -> object:
    for item in Box(n=1).n:
        return item


def in_a_lambda() -> object:
    return sorted([3, 1], key=lambda item: Box(n=item).m)


def no_attribute_to_delete() -> object:
    box = Box(n=1)
    del box.n, box.m
