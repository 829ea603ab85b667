"""TLA+ values as Python values: one normal form for what TLC prints, what ITF carries and what code shows.

TLA+                     Python                                                   ITF
TRUE, 3, "a", a          bool, int, str, str (a model value is its name)          true, 3, "a", "a"
{1, 2}                   frozenset                                                {"#set": [1, 2]}
<<1, 2>>                 tuple                                                    {"#tup": [1, 2]}, or a list
[a |-> 1]                FrozenMap: a record is a function of strings             {"a": 1}
(1 :> "x" @@ 2 :> "y")   tuple: a sequence is a function of 1..n, as in TLA+      {"#map": [[1, "x"], [2, "y"]]}
9007199254740993         int                                                      {"#bigint": "9007199254740993"}

Source: apalache-mc.org, ADR 015 "Informal Trace Format in JSON".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, TypeAlias

from omni_ipc.errors import FormatError, UsageError

Value: TypeAlias = "bool | int | str | tuple[Value, ...] | frozenset[Value] | FrozenMap"
"""A value in normal form: immutable and hashable."""

ESCAPES = {"t": "\t", "n": "\n", "f": "\f", "r": "\r"}
"""In strings of TLA+, behind a backslash."""

_PLAIN = {bool, int, str}
_IDENTIFIER = re.compile(r"[A-Za-z]\w*\Z")


class FrozenMap(Mapping["Value", "Value"]):
    """A function of TLA+ that is no sequence: immutable, hashable, equal to any mapping with the same items."""

    __slots__ = ("_hash", "_items")

    def __init__(self, items: Mapping[Value, Value]) -> None:
        self._items = dict(items)
        self._hash: int | None = None  # most are only compared

    def __getitem__(self, key: Value) -> Value:
        return self._items[key]

    def __iter__(self) -> Iterator[Value]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, FrozenMap):  # the general way looks at each item in Python
            return self._items == other._items
        if type(other) is dict:
            return self._items == other
        return super().__eq__(other)

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self._items.items()))
        return self._hash

    def __repr__(self) -> str:
        return f"FrozenMap({self._items!r})"


def normal(value: object) -> Value:
    """Bring ordinary Python values to normal form, so that a projection of code compares equal to a model's state.

    Lists and tuples become tuples, sets frozensets, mappings FrozenMaps; a mapping of exactly 1..n, and an empty one,
    is a sequence.

    Raises:
        UsageError: the value has no counterpart in TLA+, such as None or a float.
    """
    if type(value) in _PLAIN:
        return value  # type: ignore[return-value]
    match value:
        case dict():  # the most frequent kind; a call for each plain item would be most of its cost
            return function(
                {normal(key): item if type(item) in _PLAIN else normal(item) for key, item in value.items()}
            )
        case int():
            return int(value)
        case str():
            return str(value)
        case list() | tuple():
            return tuple([item if type(item) in _PLAIN else normal(item) for item in value])
        case set() | frozenset() | AbstractSet():  # the built-in ones first: they are told apart ten times as fast
            return frozenset(map(normal, value))
        case Mapping():
            return function({normal(key): normal(item) for key, item in value.items()})
    raise UsageError(
        f"{value!r} has no counterpart in TLA+. Project it to bools, ints, strings, tuples, sets or mappings of these."
    )


def show(value: Value, between: str = ", ") -> str:
    """Write a value as TLA+ would; sets and functions are ordered, so equal values look equal.

    Args:
        between: stands between members, arguments and fields: a comma, and white space as one likes it.
    """
    match value:
        case bool():
            return str(value).upper()
        case int():
            return str(value)
        case str():
            escaped = value.replace("\\", "\\\\").replace('"', '\\"')
            for letter, character in ESCAPES.items():
                escaped = escaped.replace(character, f"\\{letter}")
            return f'"{escaped}"'
        case tuple():
            return f"<<{between.join(show(item, between) for item in value)}>>"
        case frozenset():
            return f"{{{between.join(sorted(show(item, between) for item in value))}}}"
        case FrozenMap() if all(isinstance(key, str) and _IDENTIFIER.match(key) for key in value):
            return f"[{between.join(sorted(f'{key} |-> {show(item, between)}' for key, item in value.items()))}]"
        case FrozenMap():
            pairs = (f"{show(key, between)} :> {show(item, between)}" for key, item in value.items())
            return f"({' @@ '.join(sorted(pairs))})"


def function(items: dict[Value, Value]) -> Value:
    """Make a function of its items: a sequence, if its arguments are 1..n."""
    for key in items:
        if type(key) is not int:  # the first one tells of most functions that they are no sequence
            return FrozenMap(items)
    places = range(1, len(items) + 1)
    return tuple(items[place] for place in places) if set(items) == set(places) else FrozenMap(items)


def from_itf(data: Any) -> Value:
    """Decode a value.

    Raises:
        FormatError: the data is not ITF.
    """
    match data:
        case bool() | int() | str():
            return data
        case list() | {"#tup": list()}:
            return tuple(from_itf(item) for item in (data if isinstance(data, list) else data["#tup"]))
        case {"#set": list(items)}:
            return frozenset(from_itf(item) for item in items)
        case {"#map": list(pairs)} if all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
            return normal({from_itf(key): from_itf(item) for key, item in pairs})
        case {"#bigint": str(digits)} if digits.removeprefix("-").isdecimal():
            return int(digits)
        case dict() if not any(key.startswith("#") for key in data):
            return normal({key: from_itf(item) for key, item in data.items()})
    raise FormatError(f"Not a value in ITF: {data!r}.")
