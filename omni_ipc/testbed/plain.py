"""Plain values as JSON and back, exactly: tuples, sets, dictionaries of anything, and integers of any size."""

from __future__ import annotations

from typing import Any

_SAFE = 1 << 53


def to_json(value: Any) -> Any:
    """Return what `from_json` makes the same value of.

    Raises:
        TypeError: it is not made of plain values.
    """
    match value:
        case None | bool() | str() | float():
            return value
        case int():
            return value if -_SAFE < value < _SAFE else {"int": format(value, "x")}
        case list():
            return [to_json(item) for item in value]
        case tuple():
            return {"tuple": [to_json(item) for item in value]}
        case set() | frozenset():
            return {"set": [to_json(item) for item in value]}
        case bytes():
            return {"bytes": value.hex()}
        case dict():
            return {"dict": [[to_json(key), to_json(item)] for key, item in value.items()]}
    raise TypeError(f"{type(value).__name__} is no plain value")


def from_json(value: Any) -> Any:
    """Return the value that JSON stands for.

    Raises:
        ValueError, TypeError: it stands for none.
    """
    if isinstance(value, list):
        return [from_json(item) for item in value]
    if not isinstance(value, dict):
        return value
    ((kind, inner),) = value.items()
    match kind:
        case "int":
            return int(inner, 16)
        case "tuple":
            return tuple(from_json(item) for item in inner)
        case "set":
            return {from_json(item) for item in inner}
        case "bytes":
            return bytes.fromhex(inner)
        case "dict":
            return {from_json(key): from_json(item) for key, item in inner}
    raise ValueError(f"'{kind}' is no kind of value")
