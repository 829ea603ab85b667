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
            return f"{{{_listed(items)}}}"
        case list(items) | {"#tup": list(items)}:
            return f"<<{_listed(items)}>>"
        case dict():
            return f"[{', '.join(f'{key}: {show(item)}' for key, item in _pairs(value))}]"
    return str(value)


def _differences(name: str, before: Any, after: Any) -> Iterator[str]:
    if before == after:
        return
    if _is_map(before) and _is_map(after):
        old, new = dict(_pairs(before)), dict(_pairs(after))
        if old.keys() == new.keys():
            for key in new:
                yield from _differences(f"{name}.{key}" if key.isidentifier() else f"{name}[{key}]", old[key], new[key])
            return
    yield f"{name}: {show(before)} → {show(after)}"


def _is_map(value: Any) -> bool:
    return isinstance(value, dict) and ("#map" in value or not any(key.startswith("#") for key in value))


def _pairs(value: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Give the items of a record or of a function, keys as text."""
    for key, item in value.get("#map", value.items()):
        yield show(key), item


def _listed(items: list[Any]) -> str:
    return ", ".join(map(show, items))
