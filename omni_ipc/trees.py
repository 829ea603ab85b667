"""Trees of arrays: nested lists, tuples, dicts, dataclasses and msgspec structs, whatever their leaves are."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import msgspec


def fields(value: Any) -> dict[str, Any] | None:
    """Give the fields of a dataclass or a struct by their names, or None if it is neither."""
    if isinstance(value, msgspec.Struct):
        return {name: getattr(value, name) for name in value.__struct_fields__}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return None


def mapped(fn: Callable[[Any], Any], tree: Any) -> Any:
    """Apply a function to every leaf; dataclasses and structs become dicts, as they do when they are sent."""
    if isinstance(tree, list):
        return [mapped(fn, item) for item in tree]
    if isinstance(tree, tuple):
        return tuple(mapped(fn, item) for item in tree)
    members = tree if isinstance(tree, dict) else fields(tree)
    if members is not None:
        return {key: mapped(fn, item) for key, item in members.items()}
    return fn(tree)


def leaves(tree: Any) -> Iterator[Any]:
    """Go through the leaves, in their order."""
    if isinstance(tree, list | tuple):
        for item in tree:
            yield from leaves(item)
        return
    members = tree if isinstance(tree, dict) else fields(tree)
    if members is None:
        yield tree
    else:
        for item in members.values():
            yield from leaves(item)
