"""States of a model as text, in TLA+'s notation: of a state only what a step changed, or all of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from omni_ipc.values import FrozenMap, Value, from_itf, show

State = Mapping[str, Any]
"""Variables and their values, as in ITF."""


def changes(before: State | None, after: State | None) -> tuple[str, ...]:
    """Say what differs between two states, a line for each difference; nothing where either state is unknown.

    Raises:
        FormatError: a value is not ITF.
    """
    if before is None or after is None:
        return ()
    values = ((name, before.get(name), from_itf(value)) for name, value in after.items())
    return tuple(
        line
        for name, old, new in values
        for line in ([f"{name}: unknown → {show(new)}"] if old is None else _differences(name, from_itf(old), new))
    )


def values(state: State) -> tuple[str, ...]:
    """Say the whole of a state, a line for each variable.

    Raises:
        FormatError: a value is not ITF.
    """
    return tuple(f"{name} = {show(from_itf(value))}" for name, value in sorted(state.items()))


def _differences(name: str, before: Value, after: Value) -> Iterator[str]:
    """Descend as far as both are functions of the same arguments; sequences are functions of 1, 2, ..."""
    if before == after:
        return
    old, new = dict(_parts(before)), dict(_parts(after))
    if not old or old.keys() != new.keys():
        yield f"{name}: {show(before)} → {show(after)}"
        return
    for part in new:
        yield from _differences(f"{name}{part}", old[part], new[part])


def _parts(value: Value) -> Iterator[tuple[str, Value]]:
    """Give what a value has at each argument; nothing if it is no function."""
    match value:
        case tuple():
            yield from ((f"[{index}]", item) for index, item in enumerate(value, start=1))
        case FrozenMap():
            for key, item in value.items():
                yield f".{key}" if isinstance(key, str) and key.isidentifier() else f"[{show(key)}]", item
