"""Arrays of numpy and torch: several may have the same elements, as a view and what it is a view of do."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

_ARRAYS = {("numpy", "ndarray"), ("torch", "Tensor")}


class _IsArray(dict[type, bool]):
    """Which types are of arrays; told by name, as neither package is needed."""

    def __missing__(self, kind: type) -> bool:
        found = self[kind] = any((base.__module__, base.__name__) in _ARRAYS for base in kind.__mro__)
        return found


IS_ARRAY = _IsArray()


def holder_of(value: Any) -> Any:
    """Return what holds an array's elements, if it is another object, and no array; else the array."""
    inner = value
    while IS_ARRAY[type(inner)] and (base := getattr(inner, "base", None)) is not None:
        inner = base.obj if type(base) is memoryview else base
    return value if IS_ARRAY[type(inner)] else inner


def place_of(value_id: int, value: Any) -> tuple[Hashable, Any]:
    """Return what stands for the elements of an array: the same for all that have the same ones.

    Returns:
        The id of what holds them, and that; or their address, and the array. Other objects stand for themselves.
    """
    if not IS_ARRAY[type(value)]:
        return value_id, value
    holder = holder_of(value)
    if holder is not value:
        return id(holder), holder
    address = _address(value)
    return (value_id if address is None else ("memory", address)), value


def _address(array: Any) -> int | None:
    try:
        if hasattr(array, "untyped_storage"):
            return int(array.untyped_storage().data_ptr())
        while array.base is not None:
            array = array.base
            if hasattr(array, "untyped_storage"):
                return _address(array)
        return int(array.__array_interface__["data"][0])
    except (AttributeError, NotImplementedError, RuntimeError, TypeError, ValueError):  # of a tensor without any
        return None
