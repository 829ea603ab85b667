"""Writing ITF, the JSON format for traces that Apalache defined and other TLA+ tools read; `omni_ipc.values` reads it.

Source: apalache-mc.org, ADR 015 "Informal Trace Format in JSON".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from omni_ipc.conformance.tlc.result import Result
from omni_ipc.values import FrozenMap, Value, show

_SAFE_INTEGER = 2**53


def to_itf(value: Value) -> Any:
    """Encode a value; sets and functions come in a fixed order, so that equal values give equal JSON."""
    match value:
        case bool() | str():
            return value
        case int():
            return value if abs(value) < _SAFE_INTEGER else {"#bigint": str(value)}
        case tuple():
            return {"#tup": [to_itf(item) for item in value]}
        case frozenset():
            return {"#set": [to_itf(item) for item in sorted(value, key=show)]}
        case FrozenMap() if all(isinstance(key, str) and not key.startswith("#") for key in value):
            return {str(key): to_itf(value[key]) for key in sorted(value, key=show)}
        case FrozenMap():
            return {"#map": [[to_itf(key), to_itf(value[key])] for key in sorted(value, key=show)]}


def state_to_itf(state: Mapping[str, Value]) -> dict[str, Any]:
    """Encode the variables of one state, in alphabetical order."""
    return {name: to_itf(state[name]) for name in sorted(state)}


def counterexample_to_itf(result: Result, *, source: str) -> dict[str, Any]:
    """Encode a counterexample as an ITF document; a lasso keeps its ``loop``, the index of the state it returns to.

    Args:
        source: the module that was checked.
    """
    document: dict[str, Any] = {
        "#meta": {
            "format": "ITF",
            "format-description": "https://apalache-mc.org/docs/adr/015adr-trace.html",
            "source": source,
            "status": "violation",
            "description": result.summary,
        },
        "vars": sorted(result.trace[0].variables) if result.trace else [],
        "states": [
            {"#meta": {"index": index, "action": str(state)}, **state_to_itf(state.variables)}
            for index, state in enumerate(result.trace)
        ],
    }
    if result.loop is not None:
        document["loop"] = result.loop
    return document
