"""States of a model as text: values in TLA+'s notation, and of a state only what a step changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

State = Mapping[str, Any]
"""Variables and their values, as in ITF."""


def changes(before: State | None, after: State | None) -> tuple[str, ...]:
    """Say what differs between two states, a line for each difference; nothing where either state is unknown."""
    if before is None or after is None:
        return ()
    return tuple(line for name in after for line in _differences(name, before.get(name), after[name]))


def show(value: Any) -> str:
    """Write a value of ITF in TLA+'s notation, strings without quotes."""
    match value:
        case None:
            return "unknown"
        case bool():
            return "TRUE" if value else "FALSE"
        case {"#bigint": digits}:
            return str(digits)
        case {"#set": list(items)}:
            return f"{{{', '.join(map(show, items))}}}"
        case list(items) | {"#tup": list(items)}:
            return f"<<{', '.join(map(show, items))}>>"
        case dict():
            return f"[{', '.join(f'{key}: {show(item)}' for key, item in _function(value))}]"
    return str(value)


def _differences(name: str, before: Any, after: Any) -> Iterator[str]:
    """Descend as far as both are functions of the same arguments; sequences are functions of 1, 2, ..."""
    if before == after:
        return
    old, new = dict(_parts(before)), dict(_parts(after))
    if not old or old.keys() != new.keys():
        yield f"{name}: {show(before)} → {show(after)}"
        return
    for part in new:
        yield from _differences(f"{name}{part}", old[part], new[part])


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    """Give what a value has at each argument; nothing if it is no function."""
    match value:
        case list(items) | {"#tup": list(items)}:
            yield from ((f"[{index}]", item) for index, item in enumerate(items, start=1))
        case {"#set": _} | {"#bigint": _}:
            return
        case dict():
            for key, item in _function(value):
                yield (f".{key}" if key.isidentifier() else f"[{key}]"), item


def _function(value: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Give the arguments of a record or of a function, as text, and its values."""
    for key, item in value.get("#map", value.items()):
        yield show(key), item
