"""TLA+ values as Python values: one normal form for what TLC prints and for what code shows.

TLA+                     Python
TRUE, 3, "a", a          bool, int, str, str (a model value is its name)
{1, 2}                   frozenset
<<1, 2>>                 tuple
[a |-> 1], ("a" :> 1)    FrozenMap: a record is a function of strings, as in TLA+
(1 :> "x" @@ 2 :> "y")   tuple: a sequence is a function of 1..n, as in TLA+
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import TypeAlias

from omni_ipc.errors import FormatError, UsageError

Value: TypeAlias = "bool | int | str | tuple[Value, ...] | frozenset[Value] | FrozenMap"
"""A value in normal form: immutable and hashable."""

_TOKEN = re.compile(r'\s*(?:("(?:[^"\\]|\\.)*")|(-?\d+)|([A-Za-z_]\w*)|(<<|>>|\|->|:>|@@|\.\.|[{}\[\](),]))')
_ESCAPES = {"t": "\t", "n": "\n", "f": "\f", "r": "\r"}
_IDENTIFIER = re.compile(r"[A-Za-z]\w*\Z")
_WORDS = {"TRUE": True, "FALSE": False}


class FrozenMap(Mapping["Value", "Value"]):
    """A function of TLA+ that is no sequence: immutable, hashable, equal to any mapping with the same items."""

    __slots__ = ("_hash", "_items")

    def __init__(self, items: Mapping[Value, Value]) -> None:
        self._items = dict(items)
        self._hash = hash(frozenset(self._items.items()))

    def __getitem__(self, key: Value) -> Value:
        return self._items[key]

    def __iter__(self) -> Iterator[Value]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
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
    match value:
        case bool():
            return value
        case int():
            return int(value)
        case str():
            return str(value)
        case list() | tuple():
            return tuple(map(normal, value))
        case AbstractSet():
            return frozenset(map(normal, value))
        case Mapping():
            return _function({normal(key): normal(item) for key, item in value.items()})
    raise UsageError(
        f"{value!r} has no counterpart in TLA+. Project it to bools, ints, strings, tuples, sets or mappings of these."
    )


def parse(text: str) -> Value:
    """Read one value as TLC prints it, wrapped over lines or not.

    Raises:
        FormatError: the text is no value; names the place.
    """
    parser = _Parser(text)
    value = parser.value()
    parser.end()
    return value


def show(value: Value) -> str:
    """Write a value as TLA+ would; sets and functions are ordered, so equal values look equal."""
    match value:
        case bool():
            return str(value).upper()
        case int():
            return str(value)
        case str():
            escaped = value.replace("\\", "\\\\").replace('"', '\\"')
            for letter, character in _ESCAPES.items():
                escaped = escaped.replace(character, f"\\{letter}")
            return f'"{escaped}"'
        case tuple():
            return f"<<{', '.join(map(show, value))}>>"
        case frozenset():
            return f"{{{', '.join(sorted(map(show, value)))}}}"
        case FrozenMap() if all(isinstance(key, str) and _IDENTIFIER.match(key) for key in value):
            return f"[{', '.join(sorted(f'{key} |-> {show(item)}' for key, item in value.items()))}]"
        case FrozenMap():
            return f"({' @@ '.join(sorted(f'{show(key)} :> {show(item)}' for key, item in value.items()))})"


def _function(items: dict[Value, Value]) -> Value:
    count = len(items)
    if all(type(key) is int for key in items) and set(items) == set(range(1, count + 1)):
        return tuple(items[place] for place in range(1, count + 1))
    return FrozenMap(items)


class _Parser:
    """Recursive descent over tokens; white space and line breaks mean nothing."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def value(self) -> Value:
        place = self._at
        token = self._next()
        match token:
            case "<<":
                return tuple(self._items(">>"))
            case "{":
                return frozenset(self._items("}"))
            case "[":
                return self._record()
            case "(":
                return self._map()
            case _ if token[0] == '"':
                return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[1]), token[1:-1], flags=re.DOTALL)
            case _ if token[-1].isdigit() and token.lstrip("-").isdigit():
                return self._number_or_interval(int(token))
            case _ if token[0].isalpha() or token[0] == "_":
                return _WORDS.get(token, token)
        raise self._error(place, "a value")

    def end(self) -> None:
        if self._text[self._at :].strip():
            raise self._error(self._at, "nothing more")

    def _items(self, closing: str) -> Iterator[Value]:
        if self._take(closing):
            return
        yield self.value()
        while not self._take(closing):
            self._expect(",")
            yield self.value()

    def _record(self) -> Value:
        items: dict[Value, Value] = {}
        while True:
            name = self._next()
            self._expect("|->")
            items[name] = self.value()
            if self._take("]"):
                return _function(items)
            self._expect(",")

    def _map(self) -> Value:
        items: dict[Value, Value] = {}
        while True:
            key = self.value()
            self._expect(":>")
            items[key] = self.value()
            if self._take(")"):
                return _function(items)
            self._expect("@@")

    def _number_or_interval(self, first: int) -> Value:
        if not self._take(".."):
            return first
        return frozenset(range(first, int(self._next()) + 1))

    def _next(self) -> str:
        found = _TOKEN.match(self._text, self._at)
        if found is None:
            raise self._error(self._at, "a value")
        self._at = found.end()
        return found[found.lastindex or 0]

    def _take(self, token: str) -> bool:
        found = _TOKEN.match(self._text, self._at)
        if found is None or found[found.lastindex or 0] != token:
            return False
        self._at = found.end()
        return True

    def _expect(self, token: str) -> None:
        if not self._take(token):
            raise self._error(self._at, f"'{token}'")

    def _error(self, place: int, expected: str) -> FormatError:
        rest = self._text[place:].strip()
        found = f"'{rest[:30]}'" if rest else "the end"
        return FormatError(f"Not a TLA+ value: expected {expected} at character {place}, found {found}.")
