"""A list that does not keep its items alive."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class WeakList(Generic[T]):
    """Items in the order in which they came, as long as somebody else keeps them; a WeakSet has no order."""

    __slots__ = ("_items",)

    def __init__(self) -> None:
        self._items: list[weakref.ref[T]] = []

    def add(self, item: T) -> None:
        self._items.append(weakref.ref(item))

    def clear(self) -> None:
        self._items.clear()

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __iter__(self) -> Iterator[T]:
        for reference in self._items:
            item = reference()
            if item is not None:
                yield item
