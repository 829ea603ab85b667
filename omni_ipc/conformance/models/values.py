"""Reading TLA+ values as TLC prints them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from omni_ipc.errors import FormatError
from omni_ipc.values import ESCAPES, FrozenMap, Value, function, show

_TOKEN = re.compile(r'\s*(?:("(?:[^"\\]|\\.)*")|(-?\d+)|([A-Za-z_]\w*)|(<<|>>|\|->|:>|@@|\.\.|[{}\[\](),]))')
_WORDS = {"TRUE": True, "FALSE": False}


def parse(text: str) -> Value:
    """Read one value as TLC prints it, wrapped over lines or not.

    Raises:
        FormatError: the text is no value; names the place.
    """
    parser = _Parser(text)
    value = parser.value()
    parser.end()
    return value


def parse_printed(text: str, tag: str) -> Iterator[tuple[Value, ...]]:
    """Find the tuples that a model has printed, whose first item is the string ``tag``, among whatever else is there.

    Raises:
        FormatError: something that begins so is no value.
    """
    begin = re.compile(rf'<<\s*"{re.escape(tag)}"')
    parser = _Parser(text)
    while parser.skip_to(begin):
        value = parser.value()
        assert isinstance(value, tuple), "a value that begins with << is a tuple"
        yield value


def literal(value: Value, model_values: Collection[str]) -> str:
    """Write a value as an expression of a module that extends TLC, in which ``model_values`` are constants."""

    def write(value: Value) -> str:
        match value:
            case str() if value in model_values:
                return value
            case tuple():
                return f"<<{', '.join(map(write, value))}>>"
            case frozenset():
                return f"{{{', '.join(sorted(map(write, value)))}}}"
            case FrozenMap() if value:
                return f"({' @@ '.join(sorted(f'{write(key)} :> {write(item)}' for key, item in value.items()))})"
        return show(value)

    return write(value)


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
                return re.sub(r"\\(.)", lambda found: ESCAPES.get(found[1], found[1]), token[1:-1], flags=re.DOTALL)
            case _ if token[-1].isdigit() and token.lstrip("-").isdigit():
                return self._number_or_interval(int(token))
            case _ if token[0].isalpha() or token[0] == "_":
                return _WORDS.get(token, token)
        raise self._error(place, "a value")

    def end(self) -> None:
        if self._text[self._at :].strip():
            raise self._error(self._at, "nothing more")

    def skip_to(self, pattern: re.Pattern[str]) -> bool:
        """Go on to where a pattern is found next, and tell whether it is."""
        found = pattern.search(self._text, self._at)
        self._at = found.start() if found else len(self._text)
        return found is not None

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
                return function(items)
            self._expect(",")

    def _map(self) -> Value:
        items: dict[Value, Value] = {}
        while True:
            key = self.value()
            self._expect(":>")
            items[key] = self.value()
            if self._take(")"):
                return function(items)
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
